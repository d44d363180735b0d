//! Numbers as text without the machinery of formatting: ids and counts are written several times a call.

/// A number as decimal digits.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    digits: [u8; 20],
    from: usize,
}

impl Decimal {
    /// The digits of `number`.
    pub fn of(number: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut from = digits.len();
        let mut rest = number;
        for place in digits.iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
            from -= 1;
            if rest == 0 {
                break;
            }
        }
        Self { digits, from }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        // Digits are text.
        std::str::from_utf8(self.digits.get(self.from..).unwrap_or_default()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_read_as_they_are_formatted() {
        for number in [0, 7, 10, 99, 100, 1_000_000, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::of(number).as_str(), number.to_string());
        }
    }
}
