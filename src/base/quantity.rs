//! Sizes and times as people read them, the same in every message and report.

/// Bytes with a binary unit and three significant digits: `1.50 KiB`.
pub fn bytes(value: impl Into<u128>) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let value = value.into();
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 would be shown as 1024 with three digits.
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

/// A time in seconds or a smaller unit: `123.4 s`, `12.3 s`, `1.23 s`, `850 ms`. `0 s` only for no time at
/// all.
pub fn seconds(value: f64) -> String {
    // What is not a number is no time either.
    if value.is_nan() || value <= 0.0 {
        return "0 s".into();
    }
    if value >= 99.95 {
        return format!("{value:.1} s");
    }
    if value >= 0.9995 {
        return format!("{} s", three_digits(value));
    }
    match 1e6 * value {
        small if small < 0.5 => "< 1 µs".into(),
        small if small < 999.5 => format!("{small:.0} µs"),
        _ => format!("{} ms", three_digits(1e3 * value)),
    }
}

/// A part in whole percent: `12 %`; `< 1 %` for what would be shown as nothing.
pub fn whole_percent(percent: f64) -> String {
    if percent > 0.0 && percent < 0.5 { "< 1 %".into() } else { format!("{percent:.0} %") }
}

fn three_digits(value: f64) -> String {
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 << 10, "10.0 KiB"),
            (1_048_575, "1.00 MiB"),
            (300 << 20, "300 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(bytes(u128::MAX).split(' ').next_back(), Some("EiB"));
    }

    #[test]
    fn no_part_is_shown_as_nothing() {
        assert_eq!([0.0, 0.2, 0.7, 99.6].map(whole_percent), ["0 %", "< 1 %", "1 %", "100 %"]);
    }

    #[test]
    fn no_time_that_passed_is_zero() {
        for (value, text) in [
            (0.0, "0 s"),
            (f64::NAN, "0 s"),
            (1e-9, "< 1 µs"),
            (0.000_85, "850 µs"),
            (0.000_999_9, "1.00 ms"),
            (0.0123, "12.3 ms"),
            (0.999, "999 ms"),
            (0.9999, "1.00 s"),
            (1.5, "1.50 s"),
            (10.0, "10.0 s"),
            (4321.42, "4321.4 s"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }
}
