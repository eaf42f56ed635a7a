//! Formats wall-clock time for people and logs.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in UTC (RFC 3339), in seconds.
pub fn now_rfc3339() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format_rfc3339(now.map_or(0, |now| now.as_secs()))
}

/// Returns the nanoseconds since 1970.
pub fn unix_nanos() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

const SECONDS_PER_DAY: u64 = 86_400;
const DAYS_PER_400_YEARS: u64 = 146_097;

/// Formats seconds since 1970 (RFC 3339).
fn format_rfc3339(unix_seconds: u64) -> String {
    let (days, second_of_day) = (unix_seconds / SECONDS_PER_DAY, unix_seconds % SECONDS_PER_DAY);
    let (year, month, day) = date_from_unix_days(days);
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the date this number of days after 1970-01-01 (Gregorian calendar).
fn date_from_unix_days(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats every 400 years.
    let mut year = 1970 + days / DAYS_PER_400_YEARS * 400;
    days %= DAYS_PER_400_YEARS;
    loop {
        let days_in_year = 365 + u64::from(is_leap(year));
        if days < days_in_year {
            break;
        }
        days -= days_in_year;
        year += 1;
    }
    let days_in_february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for days_in_month in [31, days_in_february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < days_in_month {
            break;
        }
        days -= days_in_month;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Expected values from `date -u`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(format_rfc3339(seconds), expected);
        }
    }
}
