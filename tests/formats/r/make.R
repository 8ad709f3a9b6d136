# Makes the .rds files beside it: Rscript make.R (needs haven and tibble). The records are invented.
library(haven)
people <- tibble::tibble(
  sex = labelled(c(1, 2, 9, 2), c(Male = 1, Female = 2, Refused = 9), label = "Sex of person"),
  question = labelled_spss(c(1, 2, 9, NA), c(Yes = 1, No = 2, Refused = 9),
                           na_values = 9, na_range = c(90, 99), label = "Question 1"),
  tagged = labelled(c(1, 2.5, tagged_na("a"), NA), c(Yes = 1, Refused = tagged_na("a"))),
  letters = labelled(c("a", "b", "a", NA), c("First letter" = "a")),
  level = factor(c("low", "high", "low", NA), levels = c("low", "mid", "high")),
  ordered = factor(c("low", "high", "low", NA), levels = c("low", "mid", "high"), ordered = TRUE),
  born = as.Date(c("2020-01-01", NA, "2021-02-03", "1950-01-01")),
  moment = as.POSIXct(c("2020-01-01 10:00:00", NA, "2021-02-03 00:00:01", "1950-01-01 00:00:00"), tz = "UTC"),
  income = c(1.5, NA, NaN, 2),
  count = c(1L, NA, 3L, 4L),
  yes = c(TRUE, FALSE, NA, TRUE),
  town = c("Ålesund", NA, "", "York")
)
saveRDS(people, "people.rds")
saveRDS(as.data.frame(people), "plain.rds", compress = "xz")
saveRDS(1:3, "vector.rds")

# A small data set of SAS; haven says that SAS itself may not read it, other programs do.
suppressWarnings(write_sas(data.frame(sex = c(1, 2, 2), town = c("York", "Leeds", "York"),
                                      income = c(1.5, NA, 2)), "people.sas7bdat"))
