//! The colours of heat maps: a scale with even steps of brightness, dark for little traffic and light for
//! much. It can also be read without colour vision and in grey print.

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// The colour of no traffic. It is part of the picture, so pictures look the same on light and on dark
/// backgrounds.
pub const EMPTY: Rgb = [13, 12, 20];

/// The colour of a place on the scale, from 0 to 1. The scale is Inferno without its black end, so that the
/// smallest traffic can still be seen on a dark background.
pub fn colour(place: f64) -> Rgb {
    let place = place.clamp(0.0, 1.0);
    let colour = colorous::INFERNO.eval_continuous(0.22 + 0.76 * place);
    [colour.r, colour.g, colour.b]
}

/// The nearest colour of the 6 × 6 × 6 cube of 256-colour terminals.
pub fn ansi256([r, g, b]: Rgb) -> u8 {
    let step = |c: u8| match c {
        0..=47 => 0u8,
        48..=114 => 1,
        _ => (c - 35) / 40,
    };
    16 + 36 * step(r) + 6 * step(g) + step(b)
}

/// A character for a place on the scale, for terminals without colours.
pub fn shade(place: f64) -> char {
    const SHADES: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];
    let k = (place.clamp(0.0, 1.0) * SHADES.len() as f64) as usize;
    SHADES[k.min(SHADES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brightness_rises() {
        let brightness = |p: f64| colour(p).iter().map(|&c| u32::from(c)).sum::<u32>();
        let steps: Vec<u32> = (0..=20).map(|k| brightness(f64::from(k) / 20.0)).collect();
        assert!(steps.windows(2).all(|w| w[0] < w[1] + 12), "{steps:?}");
        assert!(steps[20] > 2 * steps[0]);
    }

    #[test]
    fn ends() {
        assert_eq!((shade(0.0), shade(1.0), shade(f64::NAN)), ('.', '@', '.'));
        assert_eq!(ansi256([255, 255, 255]), 231);
        assert_eq!(ansi256([0, 0, 0]), 16);
    }
}
