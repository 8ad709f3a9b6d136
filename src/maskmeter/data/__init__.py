"""Records and their keys: files and frames in, category codes and counts out."""
