//! Maps values to positions on a logarithmic scale, because ratios are logarithmic.

/// A range of values mapped to a range of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogScale {
    values: (f64, f64),
    pixels: (f64, f64),
}

impl LogScale {
    /// Returns `None` unless the values are positive and differ.
    pub(super) fn new(values: (f64, f64), pixels: (f64, f64)) -> Option<Self> {
        let (least, most) = values;
        let sound = least > 0.0 && least < most && most.is_finite();
        sound.then_some(Self { values, pixels })
    }

    /// Returns the position of a value, clamped to the range.
    pub(super) fn at(&self, value: f64) -> f64 {
        let ((least, most), (from, to)) = (self.values, self.pixels);
        let share = (value.clamp(least, most) / least).ln() / (most / least).ln();
        from + share * (to - from)
    }

    /// Returns round values that are at least `apart` pixels apart. The coarsest round values come first, so that 1 is
    /// included.
    pub(super) fn ticks(&self, apart: f64) -> Vec<f64> {
        let (least, most) = self.values;
        let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let of = |step: f64| decades.clone().map(move |decade| step * 10_f64.powi(decade));
        let mut ticks: Vec<f64> = Vec::new();
        for step in [1.0, 5.0, 2.0, 3.0, 1.5] {
            for tick in of(step).filter(|tick| (least..=most).contains(tick)) {
                if ticks.iter().all(|other| (self.at(*other) - self.at(tick)).abs() >= apart) {
                    ticks.push(tick);
                }
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    /// Returns both ends of the range in pixels.
    pub(super) fn pixel_range(&self) -> (f64, f64) {
        self.pixels
    }
}

/// Returns the minimum and maximum of the values that have a logarithm.
pub(super) fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let sound = values.filter(|value| *value > 0.0 && value.is_finite());
    sound.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_values_to_positions() {
        let scale = LogScale::new((1.0, 100.0), (0.0, 200.0)).unwrap();
        let check = |value, expect: f64| assert!((scale.at(value) - expect).abs() < 1e-9, "{value}");
        check(1.0, 0.0);
        check(10.0, 100.0);
        check(0.1, 0.0);
        check(1e9, 200.0);
    }

    #[test]
    fn ticks_are_round_and_spaced() {
        let check = |values, expect: &[f64]| {
            let scale = LogScale::new(values, (0.0, 200.0)).unwrap();
            assert_eq!(scale.ticks(30.0), expect, "{values:?}");
        };
        check((1.0, 100.0), &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        check((0.9, 2.2), &[1.0, 1.5, 2.0]);
        check((300.0, 4e6), &[1000.0, 10_000.0, 100_000.0, 1e6]);
    }

    #[test]
    fn rejects_values_without_logarithm() {
        for values in
            [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY), bounds([0.0, -1.0].into_iter())]
        {
            assert_eq!(LogScale::new(values, (0.0, 1.0)), None, "{values:?}");
        }
    }
}
