//! Time: clocks, and dates in zones.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use super::args::Args;
use super::{Native, NativeValue};

/// Answers if `name` is one of these.
pub(super) fn call(name: &str, args: &Args<'_, '_>) -> Native {
    let since = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(Ok(match name {
        "hrtime" => {
            let now = rustix_clock();
            NativeValue::Json(json!([now / 1_000_000_000, now % 1_000_000_000]))
        }
        "now_ms" => NativeValue::Number(since().as_secs_f64() * 1000.0),
        "tz" => NativeValue::Text(TimeZone::system().iana_name().unwrap_or("UTC").to_owned()),
        "format_date" => {
            let zone = match args.maybe_text(1) {
                Some(name) => match TimeZone::get(&name) {
                    Ok(zone) => zone,
                    Err(_) => return Some(Err((format!("Invalid time zone specified: {name}"), "RangeError"))),
                },
                None => TimeZone::system(),
            };
            let Ok(at) = Timestamp::from_millisecond(args.number(0) as i64) else {
                return Some(Err(("Invalid time value".to_owned(), "RangeError")));
            };
            let at = at.to_zoned(zone);
            let abbreviation = at.time_zone().to_offset_info(at.timestamp()).abbreviation().to_owned();
            NativeValue::Json(json!({
                "year": at.year(), "month": at.month(), "day": at.day(), "hour": at.hour(), "minute": at.minute(),
                "second": at.second(), "millisecond": at.millisecond(),
                "weekday": at.weekday().to_sunday_zero_offset(), "offset_min": at.offset().seconds() / 60,
                "tz": at.time_zone().iana_name().unwrap_or("UTC"), "abbreviation": abbreviation,
            }))
        }
        _ => return None,
    }))
}

/// Nanoseconds of a clock that never goes back.
fn rustix_clock() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    let (start, base) = START.get_or_init(|| {
        let base = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        (Instant::now(), base)
    });
    base + start.elapsed().as_nanos() as u64
}
