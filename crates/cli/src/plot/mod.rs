//! A chart of scores over frames, as SVG or as an HTML page with the chart and a table.
//!
//! A model's scores share one large panel; without a model each score has a small panel of its
//! own, for their scales have nothing in common. The SVG names only the generic font family, so
//! it needs no font where it is made. Long clips are drawn as the range of each column of
//! points, so that no dip is lost.

mod axis;
mod page;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axis::Axis;
pub(crate) use page::{Table, html};

/// Width of the chart in CSS pixels.
const WIDTH: u32 = 1200;
const HEADER: u32 = 72;
const LARGE: u32 = 430;
const SMALL: u32 = 190;
const MARGIN: u32 = 24;
/// The drawing library has whole coordinates; drawing larger than shown gives quarter pixels.
const SCALE: u32 = 4;
/// Points drawn of one line at most.
const MOST_POINTS: usize = 1600;
/// Up to this many points each is marked.
const MOST_MARKS: usize = 80;

const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
const GREY: RGBColor = RGBColor(0x6a, 0x73, 0x7d);
const GRID: RGBColor = RGBColor(0xe4, 0xe7, 0xeb);
/// Distinguishable with any colour vision (Okabe and Ito, 2008), darkest first.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Headline.
    pub(crate) title: String,
    /// Line below it.
    pub(crate) subtitle: String,
    /// From top to bottom.
    pub(crate) panels: Vec<Panel>,
}

/// Lines that share a scale.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// In the order of the legend.
    pub(crate) lines: Vec<Line>,
    /// Whether the scale is that of a model, which ends at 0 and 100.
    pub(crate) model: bool,
}

/// One score over the frames.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name of the score.
    pub(crate) name: String,
    /// Frame numbers and scores.
    pub(crate) points: Vec<(u64, f64)>,
    /// Lower and upper bound at each point, or nothing.
    pub(crate) band: Vec<(f64, f64)>,
    /// Mean over the frames.
    pub(crate) mean: f64,
}

impl Line {
    fn finite(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.points
            .iter()
            .copied()
            .filter(|(_, score)| score.is_finite())
    }

    /// Frame and score of the lowest point.
    fn lowest(&self) -> Option<(u64, f64)> {
        self.finite().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Runs of finite points, thinned out to what can be seen.
    fn runs(&self) -> Vec<Vec<(f64, f64)>> {
        let point = |&(frame, score): &(u64, f64)| (frame as f64, score);
        let runs = self.points.split(|(_, score)| !score.is_finite());
        let share = (self.points.len() * 2).div_ceil(MOST_POINTS).max(1);
        let thin = |run: &[(u64, f64)]| -> Vec<(f64, f64)> {
            if self.points.len() <= MOST_POINTS {
                return run.iter().map(point).collect();
            }
            let ends = run.chunks(share).flat_map(|chunk| {
                let low = chunk.iter().min_by(|a, b| a.1.total_cmp(&b.1));
                let high = chunk.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                let mut ends: Vec<_> = low.into_iter().chain(high).map(point).collect();
                ends.sort_by(|a, b| a.0.total_cmp(&b.0));
                ends.dedup();
                ends
            });
            ends.collect()
        };
        runs.filter(|run| !run.is_empty()).map(thin).collect()
    }
}

/// The chart could not be drawn; text of the drawing library.
#[derive(Debug, thiserror::Error)]
#[error("the chart could not be drawn: {0}")]
pub(crate) struct PlotError(String);

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws the chart as an SVG document.
///
/// # Errors
/// A failure of the drawing library.
pub(crate) fn svg(chart: &Chart) -> Result<String, PlotError> {
    let heights = chart.panels.iter().map(|panel| panel.height());
    let height = HEADER + heights.sum::<u32>() + MARGIN;
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (WIDTH * SCALE, height * SCALE));
    draw(root.into_drawing_area(), chart).map_err(|error| PlotError(error.to_string()))?;
    let drawn = format!("width=\"{}\" height=\"{}\"", WIDTH * SCALE, height * SCALE);
    Ok(text.replacen(&drawn, &format!("width=\"{WIDTH}\" height=\"{height}\""), 1))
}

impl Panel {
    fn height(&self) -> u32 {
        if self.model { LARGE } else { SMALL }
    }
}

fn font(pixels: u32, colour: RGBColor) -> TextStyle<'static> {
    // The library divides by 1.24 what it is given.
    let size = f64::from(pixels * SCALE) * 1.24;
    ("sans-serif", size).into_font().color(&colour)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(root: Area<'_>, chart: &Chart) -> Drawn {
    root.fill(&WHITE)?;
    let (header, mut rest) = root.split_vertically(HEADER * SCALE);
    let left = (MARGIN * SCALE) as i32;
    header.draw_text(
        &printable(&chart.title),
        &font(20, INK),
        (left, (18 * SCALE) as i32),
    )?;
    header.draw_text(
        &printable(&chart.subtitle),
        &font(13, GREY),
        (left, (46 * SCALE) as i32),
    )?;
    let key = font(12, GREY).pos(Pos::new(HPos::Right, VPos::Top));
    let corner = (((WIDTH - MARGIN) * SCALE) as i32, (47 * SCALE) as i32);
    let shaded = chart
        .panels
        .iter()
        .flat_map(|panel| &panel.lines)
        .any(|line| !line.band.is_empty());
    let meaning = match shaded {
        true => "dashed: mean, ring: lowest frame, shaded: 95 % confidence",
        false => "dashed: mean, ring: lowest frame",
    };
    header.draw_text(meaning, &key, corner)?;
    let mut colours = COLOURS.into_iter().cycle();
    for panel in &chart.panels {
        let (area, below) = rest.split_vertically(panel.height() * SCALE);
        draw_panel(&area, panel, &mut colours)?;
        rest = below;
    }
    let below = font(12, GREY).pos(Pos::new(HPos::Right, VPos::Top));
    rest.draw_text("frame", &below, (corner.0, 0))?;
    root.present()?;
    Ok(())
}

fn draw_panel(
    area: &Area<'_>,
    panel: &Panel,
    colours: &mut impl Iterator<Item = RGBColor>,
) -> Drawn {
    let (legend, plot) = area.split_vertically(30 * SCALE);
    let scores = || {
        panel
            .lines
            .iter()
            .flat_map(Line::finite)
            .map(|(_, score)| score)
    };
    let bounds = panel
        .lines
        .iter()
        .flat_map(|line| &line.band)
        .flat_map(|&(lo, hi)| [lo, hi]);
    let y = Axis::around(
        scores().chain(bounds.filter(|bound| bound.is_finite())),
        panel.model,
    );
    let frames = panel
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|&(frame, _)| frame);
    let last = frames.max().unwrap_or(0).max(1) as f64;
    let mut context = ChartBuilder::on(&plot)
        .margin_left(MARGIN * SCALE / 2)
        .margin_right(MARGIN * SCALE)
        .margin_top(4 * SCALE)
        .x_label_area_size(32 * SCALE)
        .y_label_area_size(52 * SCALE)
        .build_cartesian_2d(0.0..last, y.low..y.high)?;
    context
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID.stroke_width(SCALE))
        .light_line_style(TRANSPARENT)
        .axis_style(GREY.stroke_width(SCALE))
        .set_all_tick_mark_size(4 * SCALE)
        .x_labels(11)
        .y_labels(y.labels())
        .x_label_formatter(&|frame| match frame.fract() == 0.0 {
            true => format!("{frame:.0}"),
            false => String::new(),
        })
        .y_label_formatter(&|score| format!("{score:.*}", y.decimals))
        .x_label_style(font(12, GREY))
        .y_label_style(font(12, GREY))
        .draw()?;

    let mut legend_at = (MARGIN + 40) * SCALE;
    for line in &panel.lines {
        let colour = colours.next().unwrap_or(INK);
        if line.band.len() == line.points.len() {
            let frames = || line.points.iter().map(|&(frame, _)| frame as f64);
            let low = frames()
                .zip(&line.band)
                .map(|(frame, &(low, _))| (frame, low));
            let high = frames()
                .zip(&line.band)
                .map(|(frame, &(_, high))| (frame, high));
            let outline: Vec<_> = low.chain(high.rev()).collect();
            if outline.iter().all(|(_, bound)| bound.is_finite()) && !outline.is_empty() {
                context.draw_series([Polygon::new(outline, colour.mix(0.18))])?;
            }
        }
        if line.mean.is_finite() {
            let ends = [(0.0, line.mean), (last, line.mean)];
            let style = colour.mix(0.6).stroke_width(SCALE);
            let dashes = DashedLineSeries::new(ends, 6 * SCALE, 6 * SCALE, style);
            context.draw_series(dashes)?;
        }
        for run in line.runs() {
            if run.len() == 1 || line.points.len() <= MOST_MARKS {
                let marks = run
                    .iter()
                    .map(|&at| Circle::new(at, 5 * SCALE / 2, colour.filled()));
                context.draw_series(marks)?;
            }
            context.draw_series(LineSeries::new(run, colour.stroke_width(2 * SCALE)))?;
        }
        if let Some((frame, score)) = line.lowest() {
            let ring = INK.stroke_width(3 * SCALE / 2);
            context.draw_series([Circle::new((frame as f64, score), 5 * SCALE, ring)])?;
        }
        legend_at = draw_legend(&legend, line, colour, y.decimals, legend_at)?;
    }
    Ok(())
}

/// Draws one entry of the legend and gives the place of the next.
fn draw_legend(
    legend: &Area<'_>,
    line: &Line,
    colour: RGBColor,
    decimals: usize,
    at: u32,
) -> Result<u32, Box<dyn std::error::Error>> {
    let decimals = decimals + 2;
    let mut text = format!("{}: mean {:.decimals$}", line.name, line.mean);
    if let Some((frame, score)) = line.lowest() {
        text.push_str(&format!(", min {score:.decimals$} at frame {frame}"));
    }
    let (left, top) = (at as i32, (4 * SCALE) as i32);
    let (width, height) = ((22 * SCALE) as i32, (4 * SCALE) as i32);
    let middle = top + (8 * SCALE) as i32;
    let bar = [
        (left, middle - height / 2),
        (left + width, middle + height / 2),
    ];
    legend.draw(&Rectangle::new(bar, colour.filled()))?;
    let style = font(13, INK).pos(Pos::new(HPos::Left, VPos::Center));
    legend.draw_text(
        &printable(&text),
        &style,
        (left + width + (8 * SCALE) as i32, middle),
    )?;
    // No font is at hand to measure with; 7.2 pixels are a generous mean.
    let length = text.chars().count() as u32 * 36 / 5;
    Ok(at + (22 + 8 + length + 28) * SCALE)
}

/// `text` without the characters that XML cannot carry.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(name: &str, frames: u64, score: impl Fn(u64) -> f64) -> Line {
        let points: Vec<_> = (0..frames).map(|frame| (frame, score(frame))).collect();
        let mean = points.iter().map(|(_, score)| score).sum::<f64>() / frames as f64;
        Line {
            name: name.to_owned(),
            points,
            band: Vec::new(),
            mean,
        }
    }

    pub(crate) fn chart(lines: Vec<Line>, model: bool) -> Chart {
        Chart {
            title: "a <b> & \"c\"\u{1}".to_owned(),
            subtitle: "x against y".to_owned(),
            panels: vec![Panel { lines, model }],
        }
    }

    fn count(text: &str, part: &str) -> usize {
        text.matches(part).count()
    }

    #[test]
    fn every_frame_is_drawn() {
        let picture = svg(&chart(vec![line("vmaf", 50, |f| 90.0 - f as f64)], true)).unwrap();
        assert!(
            picture.contains("vmaf: mean 65.50, min 41.00 at frame 49"),
            "{picture}"
        );
        assert_eq!(count(&picture, "<circle"), 50 + 1);
        assert!(
            picture.contains("a &lt;b&gt; &amp; &quot;c&quot; "),
            "{picture}"
        );
        let longest = picture.lines().filter(|l| l.starts_with("<polyline"));
        let longest = longest.map(|l| count(l, ",")).max().unwrap();
        assert_eq!(longest, 50);
    }

    #[test]
    fn a_dip_of_one_frame_survives_thinning() {
        let dip = line("vmaf", 100_000, |f| if f == 77_777 { 3.0 } else { 95.0 });
        let runs = dip.runs();
        assert!(runs[0].len() <= MOST_POINTS + 2, "{}", runs[0].len());
        assert!(runs[0].contains(&(77_777.0, 3.0)));
    }

    #[test]
    fn odd_scores_are_drawn() {
        for lines in [
            vec![line("one", 1, |_| 60.0)],
            vec![line("nan", 4, |_| f64::NAN)],
            vec![line(
                "inf",
                4,
                |f| if f == 2 { f64::INFINITY } else { 1e300 },
            )],
            vec![line("none", 0, |_| 0.0)],
            vec![
                line("huge", 3, |f| f as f64 * 1e18),
                line("tiny", 3, |f| f as f64 * 1e-18),
            ],
        ] {
            for model in [false, true] {
                let picture = svg(&chart(lines.clone(), model)).unwrap();
                assert!(picture.ends_with("</svg>\n"));
            }
        }
        let broken = line("gap", 9, |f| if f == 4 { f64::NAN } else { 1.0 });
        assert_eq!(
            broken.runs().iter().map(Vec::len).collect::<Vec<_>>(),
            [4, 4]
        );
    }
}
