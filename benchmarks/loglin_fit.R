# The all-two-way model by R's own loglin, timed.
# Arguments: a CSV of counts with a column for each key and one named count, the sampling fraction,
# and the number of sweeps. Prints the seconds of the fit, those of one sweep, and tau2.
given <- commandArgs(trailingOnly = TRUE)
cells <- read.csv(given[1])
pi <- as.numeric(given[2])
sweeps <- as.integer(given[3])
keys <- setdiff(names(cells), "count")
counts <- xtabs(cells$count ~ ., data = cells[keys])
pairs <- combn(length(keys), 2, simplify = FALSE)

# No margin is met to 0, so that all sweeps are made; loglin warns of that.
fitted <- function(iter) {
  suppressWarnings(loglin(counts, pairs, fit = TRUE, print = FALSE, eps = 0, iter = iter))$fit
}
# The best of three runs, and of each the shorter of elapsed and processor time.
best <- function(iter) {
  min(replicate(3, {
    used <- system.time(fitted(iter))
    min(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]])
  }))
}
whole <- best(sweeps)
nu <- (1 - pi) * fitted(sweeps)[counts == 1] / pi
cat(whole, (whole - best(1)) / (sweeps - 1), sum(-expm1(-nu) / nu), "\n")
