//! An SVG -> the file of a chart, as SVG or as PNG by the name of the file. I/O: reads the fonts of the machine, writes
//! the file.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// The file of a chart.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    path: PathBuf,
    png: bool,
}

impl FromStr for Picture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of(text, cfg!(feature = "png"))
    }
}

impl Picture {
    /// A file by its name, in a build that draws PNG or not.
    fn of(name: &str, draws_png: bool) -> Result<Self, String> {
        let path = PathBuf::from(name);
        let is = |wanted| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(wanted));
        match (is("svg"), is("png")) {
            (true, _) => Ok(Self { path, png: false }),
            (_, true) if draws_png => Ok(Self { path, png: true }),
            (_, true) => Err("this build draws SVG only: name the file so, such as burst.svg".to_owned()),
            _ => Err("charts are drawn as SVG or PNG: name the file so, such as burst.svg".to_owned()),
        }
    }

    /// Writes a chart.
    ///
    /// # Errors
    /// Says what cannot be drawn or written, with the file's name.
    pub(super) fn write(&self, svg: &str) -> Result<(), String> {
        let bytes = if self.png { Cow::Owned(rasterized(svg)?) } else { Cow::Borrowed(svg.as_bytes()) };
        fs::write(&self.path, bytes).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

#[cfg(not(feature = "png"))]
fn rasterized(_: &str) -> Result<Vec<u8>, String> {
    Err("this build draws SVG only".to_owned())
}

/// The chart as PNG, two pixels for each unit of the SVG.
#[cfg(feature = "png")]
fn rasterized(svg: &str) -> Result<Vec<u8>, String> {
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};

    const SCALE: f32 = 2.0;
    let told = |error: &dyn std::fmt::Display| format!("the chart cannot be drawn as PNG: {error}");
    let mut options = Options::default();
    fonts(options.fontdb_mut())?;
    let tree = Tree::from_str(svg, &options).map_err(|error| told(&error))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| told(&"it is too large"))?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(|| told(&"it is too large"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| told(&error))
}

/// Loads the fonts of the machine, and chooses one for the chart's text.
#[cfg(feature = "png")]
fn fonts(known: &mut resvg::usvg::fontdb::Database) -> Result<(), String> {
    const LIKED: [&str; 4] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial"];
    known.load_system_fonts();
    let families = |family: &str| known.faces().any(|face| face.families.iter().any(|(name, _)| name == family));
    let liked = LIKED.into_iter().find(|family| families(family)).map(str::to_owned);
    let any = || known.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    let Some(chosen) = liked.or_else(any) else {
        return Err("no font is installed, so that the chart would have no text: install one, or name the file \
                    FILE.svg"
            .to_owned());
    };
    known.set_sans_serif_family(chosen);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Picture;

    #[test]
    fn the_ending_of_its_name_says_how_a_chart_is_drawn() {
        let png = |name: &str, draws_png: bool| Picture::of(name, draws_png).map(|picture| picture.png);
        assert_eq!(
            (png("day.svg", false), png("day.SVG", true), png("day.png", true)),
            (Ok(false), Ok(false), Ok(true))
        );
        assert!(png("day.png", false).unwrap_err().contains("this build draws SVG only"));
        assert!(png("day.jpg", true).unwrap_err().contains("SVG or PNG"));
    }
}
