"""Studies on invented people: the synthetic census, the demonstration and the paper."""
