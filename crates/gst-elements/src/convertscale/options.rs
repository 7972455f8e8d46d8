//! What the user can change while frames flow.

use gst::glib;
use gst::prelude::*;
use gst_video::VideoOrientationMethod as Direction;
use gst_video::{VideoAlphaMode, VideoGammaMode, VideoPrimariesMode};
use hip_video::{AlphaMode, Border, Method, Orientation};

use super::base::Abilities;
use super::direction::{self, Tagged, VideoDirection};
use super::method::{DitherChoice, MethodChoice, ToneMappingChoice};

/// The properties of conversion and scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Options {
    pub(super) add_borders: bool,
    /// 0xAARRGGBB, straight.
    pub(super) border_color: u32,
    pub(super) method: MethodChoice,
    /// B and C of the cubic filter.
    pub(super) cubic: [f64; 2],
    pub(super) lobes: u32,
    pub(super) direction: Direction,
    /// What the stream's tags say; counts where `direction` is `auto`.
    pub(super) tagged: Tagged,
    pub(super) gamma_mode: VideoGammaMode,
    pub(super) primaries_mode: VideoPrimariesMode,
    pub(super) tone_mapping: ToneMappingChoice,
    pub(super) dither: DitherChoice,
    pub(super) alpha_mode: VideoAlphaMode,
    pub(super) alpha_value: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            add_borders: true,
            border_color: 0xff00_0000,
            method: MethodChoice::default(),
            cubic: [0.0, 0.5],
            lobes: 3,
            direction: Direction::Identity,
            tagged: Tagged::default(),
            gamma_mode: VideoGammaMode::None,
            primaries_mode: VideoPrimariesMode::None,
            tone_mapping: ToneMappingChoice::default(),
            dither: DitherChoice::default(),
            alpha_mode: VideoAlphaMode::Copy,
            alpha_value: 1.0,
        }
    }
}

/// A property was given a value that cannot be used.
#[derive(Debug)]
pub(super) struct Refused(pub(super) &'static str);

impl Options {
    /// How the picture is turned.
    pub(super) fn orientation(&self) -> Orientation {
        direction::orientation(self.direction).unwrap_or_else(|| self.tagged.orientation())
    }

    /// How the picture is read.
    pub(super) fn method(&self) -> Method {
        self.method.method(self.cubic, self.lobes)
    }

    /// What becomes of alpha.
    pub(super) fn alpha(&self) -> AlphaMode {
        let value = self.alpha_value as f32;
        match self.alpha_mode {
            VideoAlphaMode::Set => AlphaMode::Set(value),
            VideoAlphaMode::Mult if self.alpha_value != 1.0 => AlphaMode::Multiply(value),
            _ => AlphaMode::Copy,
        }
    }

    /// The colour round the picture.
    pub(super) fn border(&self) -> Border {
        let [alpha, red, green, blue] = self.border_color.to_be_bytes();
        Border([red, green, blue, alpha].map(|byte| f32::from(byte) / 255.0))
    }

    /// Whether colours mean light, whose transfer function has to be known.
    pub(super) fn converts_light(&self) -> bool {
        self.gamma_mode == VideoGammaMode::Remap || self.primaries_mode == VideoPrimariesMode::Fast
    }

    /// The properties of an element with these abilities. Made anew each time, since a class owns
    /// its own.
    pub(super) fn properties(abilities: Abilities) -> Vec<glib::ParamSpec> {
        let mut properties = filter_properties();
        if abilities.scales {
            properties.extend(scale_properties());
        }
        if abilities.converts {
            properties.extend(convert_properties());
        }
        properties
    }

    /// Sets a property; `None` if it is none of these.
    ///
    /// # Errors
    /// The value cannot be used; the property stays as it is.
    pub(super) fn set_property(
        &mut self,
        value: &glib::Value,
        pspec: &glib::ParamSpec,
    ) -> Option<Result<(), Refused>> {
        fn take<T>(to: &mut T, value: &glib::Value) -> Option<()>
        where
            T: for<'a> glib::value::FromValue<'a>,
        {
            *to = value.get().ok()?;
            Some(())
        }
        match pspec.name() {
            "method" => take(&mut self.method, value),
            "cubic-b" => take(&mut self.cubic[0], value),
            "cubic-c" => take(&mut self.cubic[1], value),
            "lobes" => take(&mut self.lobes, value),
            "add-borders" => take(&mut self.add_borders, value),
            "border-color" => take(&mut self.border_color, value),
            "video-direction" => {
                let direction: Direction = value.get().ok()?;
                if direction != Direction::Auto && direction::orientation(direction).is_none() {
                    return Some(Err(Refused("a custom video-direction is not supported")));
                }
                self.direction = direction;
                Some(())
            }
            "gamma-mode" => take(&mut self.gamma_mode, value),
            "primaries-mode" => take(&mut self.primaries_mode, value),
            "tone-mapping" => take(&mut self.tone_mapping, value),
            "dither" => take(&mut self.dither, value),
            "alpha-mode" => take(&mut self.alpha_mode, value),
            "alpha-value" => take(&mut self.alpha_value, value),
            _ => None,
        }
        .map(Ok)
    }

    /// Reads a property; `None` if it is none of these.
    pub(super) fn property(&self, pspec: &glib::ParamSpec) -> Option<glib::Value> {
        Some(match pspec.name() {
            "method" => self.method.to_value(),
            "cubic-b" => self.cubic[0].to_value(),
            "cubic-c" => self.cubic[1].to_value(),
            "lobes" => self.lobes.to_value(),
            "add-borders" => self.add_borders.to_value(),
            "border-color" => self.border_color.to_value(),
            "video-direction" => self.direction.to_value(),
            "gamma-mode" => self.gamma_mode.to_value(),
            "primaries-mode" => self.primaries_mode.to_value(),
            "tone-mapping" => self.tone_mapping.to_value(),
            "dither" => self.dither.to_value(),
            "alpha-mode" => self.alpha_mode.to_value(),
            "alpha-value" => self.alpha_value.to_value(),
            _ => return None,
        })
    }
}

/// How samples are read between their places: by chroma too where nothing is scaled.
fn filter_properties() -> Vec<glib::ParamSpec> {
    let default = Options::default();
    let cubic = |name, nick, letter: &str, default| {
        glib::ParamSpecDouble::builder(name)
            .nick(nick)
            .blurb(&format!(
                "Parameter {letter} of the cubic filter (Mitchell and Netravali); for method=bicubic"
            ))
            .minimum(-1.0)
            .maximum(1.0)
            .default_value(default)
            .mutable_playing()
            .build()
    };
    vec![
        glib::ParamSpecEnum::builder_with_default("method", default.method)
            .nick("Method")
            .blurb("How the picture is read between its pixels")
            .mutable_playing()
            .build(),
        cubic("cubic-b", "Cubic B", "B", default.cubic[0]),
        cubic("cubic-c", "Cubic C", "C", default.cubic[1]),
        glib::ParamSpecUInt::builder("lobes")
            .nick("Lobes")
            .blurb(
                "Lobes of the sinc to either side, half as many as the filter has taps where the \
                 picture does not shrink; for method=lanczos",
            )
            .minimum(2)
            .maximum(4)
            .default_value(default.lobes)
            .mutable_playing()
            .build(),
    ]
}

fn scale_properties() -> Vec<glib::ParamSpec> {
    let default = Options::default();
    vec![
        glib::ParamSpecBoolean::builder("add-borders")
            .nick("Add borders")
            .blurb("Keep the display aspect ratio, with borders where needed")
            .default_value(default.add_borders)
            .mutable_playing()
            .build(),
        glib::ParamSpecUInt::builder("border-color")
            .nick("Border color")
            .blurb("Colour of the borders as 0xAARRGGBB, with straight alpha")
            .default_value(default.border_color)
            .mutable_playing()
            .build(),
        glib::ParamSpecOverride::for_interface::<VideoDirection>("video-direction"),
    ]
}

fn convert_properties() -> Vec<glib::ParamSpec> {
    let default = Options::default();
    vec![
        glib::ParamSpecEnum::builder_with_default("gamma-mode", default.gamma_mode)
            .nick("Gamma mode")
            .blurb("Whether transfer functions are converted")
            .mutable_playing()
            .build(),
        glib::ParamSpecEnum::builder_with_default("primaries-mode", default.primaries_mode)
            .nick("Primaries mode")
            .blurb("Whether primaries are converted; merge-only: only with gamma-mode=remap")
            .mutable_playing()
            .build(),
        glib::ParamSpecEnum::builder_with_default("tone-mapping", default.tone_mapping)
            .nick("Tone mapping")
            .blurb("How light that the output cannot show is brought down; with gamma-mode=remap")
            .mutable_playing()
            .build(),
        glib::ParamSpecEnum::builder_with_default("dither", default.dither)
            .nick("Dither")
            .blurb("What is done where samples lose bits")
            .mutable_playing()
            .build(),
        glib::ParamSpecEnum::builder_with_default("alpha-mode", default.alpha_mode)
            .nick("Alpha mode")
            .blurb("What becomes of alpha; nothing where the output has none")
            .mutable_playing()
            .build(),
        glib::ParamSpecDouble::builder("alpha-value")
            .nick("Alpha value")
            .blurb("The alpha that is set, or multiplied by")
            .minimum(0.0)
            .maximum(1.0)
            .default_value(default.alpha_value)
            .mutable_playing()
            .build(),
    ]
}
