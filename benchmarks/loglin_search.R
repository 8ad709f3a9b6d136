# The paper's forward search to abs(z2) < 1.96 with R's own loglin, timed; prints seconds and fits.
# Arguments: a CSV of counts with a column for each key and one named count, then the sampling fraction.
given <- commandArgs(trailingOnly = TRUE)
cells <- read.csv(given[1])
pi <- as.numeric(given[2])
keys <- setdiff(names(cells), "count")
counts <- xtabs(cells$count ~ ., data = cells[keys])

z2 <- function(mu) {
  some <- mu > 0
  f <- counts[some]; mu <- mu[some]; lam <- mu / pi; nu <- (1 - pi) * lam
  h2 <- -expm1(-nu) / nu
  a <- exp(-mu) * h2 - exp(-lam)
  b <- (exp(-mu) * h2 - exp(-lam) * (1 + nu / 2)) / mu
  sum(a * (f - mu) + b * ((f - mu)^2 - f)) / sqrt(sum(a^2 * mu + 2 * b^2 * mu^2))
}
fitted <- function(margins) loglin(counts, margins, fit = TRUE, print = FALSE, eps = 15, iter = 40)$fit

start <- proc.time()
margins <- as.list(seq_along(keys)); left <- combn(length(keys), 2, simplify = FALSE)
fits <- 1; here <- z2(fitted(margins))
while (abs(here) >= 1.96 && length(left) > 0) {
  tried <- sapply(left, function(term) z2(fitted(c(margins, list(term)))))
  fits <- fits + length(left); best <- which.min(abs(tried))
  if (abs(tried[best]) >= abs(here)) break
  here <- tried[best]; margins <- c(margins, left[best]); left <- left[-best]
}
used <- proc.time() - start
cat(min(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]]), fits, here, "\n")
