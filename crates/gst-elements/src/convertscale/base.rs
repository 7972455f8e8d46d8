//! The class that the three elements share.

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;

use super::imp;

/// What an element changes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Abilities {
    /// Format and colours.
    pub converts: bool,
    /// Size and orientation.
    pub scales: bool,
}

/// The class structure.
#[derive(Debug)]
#[repr(C)]
pub struct HipConvertBaseClass {
    parent_class: gst_base::ffi::GstBaseTransformClass,
    pub(super) abilities: Abilities,
}

// SAFETY: `repr(C)`, with the parent's class structure first; any bytes that the parent's class is
// started with, all zero, are valid `Abilities`.
unsafe impl ClassStruct for HipConvertBaseClass {
    type Type = imp::HipConvertBase;
}

glib::wrapper! {
    /// What `hipconvertscale`, `hipconvert` and `hipscale` are.
    pub struct HipConvertBase(ObjectSubclass<imp::HipConvertBase>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// One of the three elements.
pub trait HipConvertBaseImpl: BaseTransformImpl {
    /// What it does.
    const ABILITIES: Abilities;
}

// SAFETY: the parent's class is set up first, then the one field of ours. `start` is put back to what the class
// began with, the base class's own, which takes any instance of a class derived from it.
unsafe impl<T: HipConvertBaseImpl> IsSubclassable<T> for HipConvertBase {
    fn class_init(class: &mut glib::Class<Self>) {
        let start = class.as_ref().parent_class.start;
        Self::parent_class_init::<T>(class);
        let class = class.as_mut();
        // Called through a method of the derived type's, it would post every error twice.
        class.parent_class.start = start;
        class.abilities = T::ABILITIES;
    }
}

/// The module `element` of one of the elements: the type with nothing in it, whose properties are those
/// that its abilities need.
macro_rules! element_imp {
    (
        $wrapper:ident, $type_name:literal, $abilities:expr, interfaces $interfaces:ty,
        $long_name:literal, $class:literal, $description:literal
    ) => {
        mod element {
            use std::sync::LazyLock;

            use gst::glib;
            use gst::glib::prelude::*;
            use gst::subclass::prelude::*;
            use gst_base::subclass::prelude::*;

            use $crate::convertscale::{Abilities, HipConvertBase, HipConvertBaseImpl, properties};

            /// The element; its parts are the base class's.
            #[derive(Debug, Default)]
            pub struct $wrapper;

            #[glib::object_subclass]
            impl ObjectSubclass for $wrapper {
                const NAME: &'static str = $type_name;
                type Type = super::$wrapper;
                type ParentType = HipConvertBase;
                type Interfaces = $interfaces;
            }

            impl ObjectImpl for $wrapper {
                fn properties() -> &'static [glib::ParamSpec] {
                    static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> =
                        LazyLock::new(|| properties($abilities));
                    &PROPERTIES
                }

                fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
                    let element = self.obj();
                    let base: &HipConvertBase = element.upcast_ref();
                    base.imp().set_option(value, pspec);
                }

                fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
                    let element = self.obj();
                    let base: &HipConvertBase = element.upcast_ref();
                    base.imp().option(pspec)
                }
            }

            impl GstObjectImpl for $wrapper {}

            impl ElementImpl for $wrapper {
                fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
                    static METADATA: LazyLock<gst::subclass::ElementMetadata> =
                        LazyLock::new(|| {
                            gst::subclass::ElementMetadata::new(
                                $long_name,
                                $class,
                                $description,
                                "The gst-hip authors",
                            )
                        });
                    Some(&METADATA)
                }
            }

            impl BaseTransformImpl for $wrapper {
                const MODE: gst_base::subclass::BaseTransformMode =
                    gst_base::subclass::BaseTransformMode::NeverInPlace;
                const PASSTHROUGH_ON_SAME_CAPS: bool = false;
                const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
            }

            impl HipConvertBaseImpl for $wrapper {
                const ABILITIES: Abilities = $abilities;
            }
        }
    };
}

pub(crate) use element_imp;
