//! Parses times and dates from text (RFC 3339).

/// Parses `hh:mm:ss`, with or without a fraction.
pub(crate) fn time_of_day(word: &str) -> Option<f64> {
    let parts: Vec<&str> = word.split(':').collect();
    let [hours, minutes, rest] = parts[..] else { return None };
    let is_two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = rest.split('.').next().unwrap_or_default();
    if !is_two(hours) || !is_two(minutes) || !is_two(plain) {
        return None;
    }
    let number = |text: &str| text.parse::<f64>().ok();
    Some(number(hours)? * 3600.0 + number(minutes)? * 60.0 + number(rest)?)
}

/// Parses a date of RFC 3339, in seconds since 1970.
pub(crate) fn rfc3339(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = |range: core::ops::Range<usize>| {
        let part = text.get(range)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten()
    };
    let byte = |at: usize| text.as_bytes().get(at).copied();
    if byte(4) != Some(b'-') || byte(7) != Some(b'-') || !matches!(byte(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let end = text[11..].find(['Z', 'z', '+', '-']).map_or(text.len(), |at| 11 + at);
    let time = time_of_day(text.get(11..end)?)?;
    let zone = match (text.get(end..end + 1), digits(end + 1..end + 3), digits(end + 4..end + 6)) {
        (Some("+"), Some(hours), Some(minutes)) => hours * 3600 + minutes * 60,
        (Some("-"), Some(hours), Some(minutes)) => -(hours * 3600 + minutes * 60),
        _ => 0,
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 in the Gregorian calendar: years begin in March, so that the leap day is the last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((days * 86_400 - zone) as f64 + time)
}
