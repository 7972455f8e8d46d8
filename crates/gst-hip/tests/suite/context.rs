//! Neighbours share a device.

use std::sync::{Arc, Mutex};

use crate::common::{test_device, vendor};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_hip::context::{ensure_device, handle_context_query, handle_set_context, satisfies};
use gst_hip::{CONTEXT_TYPE, Device, DeviceSelector, HipContext};
use hip_core::{LoaderConfig, Runtime};

mod imp {
    use super::*;

    /// An element that needs a device from READY on.
    #[derive(Default)]
    pub struct User {
        pub selector: Mutex<DeviceSelector>,
        pub device: Mutex<Option<Device>>,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for User {
        const NAME: &'static str = "GstHipRsTestUser";
        type Type = super::User;
        type ParentType = gst::Element;
    }

    impl ObjectImpl for User {
        fn constructed(&self) {
            self.parent_constructed();
            let pad = |name, direction| {
                gst::Pad::builder(direction)
                    .name(name)
                    .query_function(|pad, parent, query| {
                        let device = parent
                            .and_then(|parent| parent.downcast_ref::<super::User>())
                            .and_then(super::User::device);
                        handle_context_query(query, device.as_ref())
                            || gst::Pad::query_default(pad, parent, query)
                    })
                    .build()
            };
            self.obj()
                .add_pad(&pad("sink", gst::PadDirection::Sink))
                .unwrap();
            self.obj()
                .add_pad(&pad("src", gst::PadDirection::Src))
                .unwrap();
        }
    }

    impl GstObjectImpl for User {}

    impl ElementImpl for User {
        fn set_context(&self, context: &gst::Context) {
            let selector = self.selector.lock().unwrap().clone();
            handle_set_context(
                &*self.obj(),
                context,
                &selector,
                &mut self.device.lock().unwrap(),
            );
            self.parent_set_context(context);
        }

        fn change_state(
            &self,
            transition: gst::StateChange,
        ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
            if transition == gst::StateChange::NullToReady {
                let selector = self.selector.lock().unwrap().clone();
                let mut device = self.device.lock().unwrap().clone();
                ensure_device(&*self.obj(), &selector, &mut device)
                    .map_err(|_| gst::StateChangeError)?;
                *self.device.lock().unwrap() = device;
            }
            let result = self.parent_change_state(transition);
            if transition == gst::StateChange::ReadyToNull {
                self.device.lock().unwrap().take();
            }
            result
        }
    }
}

glib::wrapper! {
    pub struct User(ObjectSubclass<imp::User>) @extends gst::Element, gst::Object;
}

impl User {
    fn new(selector: &DeviceSelector) -> User {
        let user: User = glib::Object::new();
        *user.imp().selector.lock().unwrap() = selector.clone();
        user
    }

    fn device(&self) -> Option<Device> {
        self.imp().device.lock().unwrap().clone()
    }
}

/// The selector under test; `None` where there is no such device.
fn selector() -> Option<DeviceSelector> {
    test_device().map(|_| DeviceSelector::Vendor(vendor()))
}

/// The devices that were announced in the pipeline, oldest first.
fn announced(pipeline: &gst::Pipeline) -> Arc<Mutex<Vec<Device>>> {
    let devices = Arc::new(Mutex::new(Vec::new()));
    let seen = devices.clone();
    pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        if let gst::MessageView::HaveContext(message) = message.view()
            && let Some(context) = HipContext::from_gst(&message.context())
        {
            seen.lock().unwrap().push(context.device().clone());
        }
        gst::BusSyncReply::Drop
    });
    devices
}

#[test]
fn a_context_carries_the_device_and_nothing_else_is_one() {
    let Some(device) = test_device() else { return };
    let context = HipContext::new(&device).to_gst();
    assert_eq!(context.context_type(), CONTEXT_TYPE);
    assert!(context.is_persistent());
    assert_eq!(*HipContext::from_gst(&context).unwrap().device(), device);
    assert!(HipContext::from_gst(&gst::Context::new("gst.cuda.context", true)).is_none());
    // The right type without, or with another version's, payload.
    let mut strange = gst::Context::new(CONTEXT_TYPE, true);
    assert!(HipContext::from_gst(&strange).is_none());
    let structure = strange.get_mut().unwrap().structure_mut();
    structure.set("abi-version", 1_u32);
    structure.set("device", "host:0");
    assert!(HipContext::from_gst(&strange).is_none());
    let mut newer = context.copy();
    newer
        .get_mut()
        .unwrap()
        .structure_mut()
        .set("abi-version", 1_000_000_u32);
    assert!(HipContext::from_gst(&newer).is_none());
}

#[test]
fn linked_elements_share_one_device() {
    let Some(selector) = selector() else { return };
    let pipeline = gst::Pipeline::new();
    let announced = announced(&pipeline);
    let users = [(); 3].map(|()| User::new(&selector));
    pipeline.add_many(&users).unwrap();
    gst::Element::link_many(&users).unwrap();
    pipeline.set_state(gst::State::Ready).unwrap();
    let first = users[0].device().unwrap();
    assert!(
        users
            .iter()
            .all(|user| user.device().as_ref() == Some(&first))
    );
    assert_eq!(
        *announced.lock().unwrap(),
        [first],
        "opened once, told once"
    );
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(users.iter().all(|user| user.device().is_none()));
}

#[test]
fn a_neighbour_is_asked_in_both_directions() {
    let Some(device) = test_device() else { return };
    let selector = DeviceSelector::Vendor(vendor());
    for upstream in [true, false] {
        // No bin and no bus: the neighbours alone.
        let (has, wants) = (User::new(&selector), User::new(&selector));
        match upstream {
            true => has.link(&wants).unwrap(),
            false => wants.link(&has).unwrap(),
        }
        has.set_context(&HipContext::new(&device).to_gst());
        for user in [&has, &wants] {
            for pad in user.pads() {
                pad.set_active(true).unwrap();
            }
        }
        let mut found = None;
        ensure_device(&wants, &selector, &mut found).unwrap();
        assert_eq!(found.as_ref(), Some(&device), "upstream: {upstream}");
    }
}

#[test]
fn elements_of_separate_bins_share_one_device() {
    let Some(selector) = selector() else { return };
    let pipeline = gst::Pipeline::new();
    let announced = announced(&pipeline);
    let users = [(); 2].map(|()| User::new(&selector));
    for user in &users {
        let bin = gst::Bin::new();
        bin.add(user).unwrap();
        pipeline.add(&bin).unwrap();
    }
    pipeline.set_state(gst::State::Ready).unwrap();
    let first = users[0].device().unwrap();
    assert_eq!(users[1].device(), Some(first.clone()));
    assert_eq!(*announced.lock().unwrap(), [first]);
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn elements_that_start_at_once_open_one_device_and_tell_once() {
    let Some(selector) = selector() else { return };
    for round in 0..10 {
        let pipeline = gst::Pipeline::new();
        let announced = announced(&pipeline);
        // In the pipeline itself and in bins of it.
        let bins = [(); 3].map(|()| gst::Bin::new());
        pipeline.add_many(&bins).unwrap();
        let users = [(); 32].map(|()| User::new(&selector));
        for (index, user) in users.iter().enumerate() {
            match bins.get(index % 4) {
                Some(bin) => bin.add(user).unwrap(),
                None => pipeline.add(user).unwrap(),
            }
        }
        let start = std::sync::Barrier::new(users.len());
        std::thread::scope(|scope| {
            for user in &users {
                scope.spawn(|| {
                    start.wait();
                    user.set_state(gst::State::Ready).unwrap();
                });
            }
        });
        let devices = users.each_ref().map(|user| user.device().unwrap());
        // The very object, with its counters and pools, not only the same context.
        let first = std::ptr::from_ref(devices[0].info());
        assert!(
            devices
                .iter()
                .all(|device| std::ptr::eq(device.info(), first))
        );
        let announced = announced.lock().unwrap().clone();
        assert_eq!(announced, devices[..1], "round {round}");
        for user in &users {
            user.set_state(gst::State::Null).unwrap();
        }
    }
}

#[test]
fn each_need_is_told_of_once() {
    gst::init().unwrap();
    let pipeline = gst::Pipeline::new();
    let announced = announced(&pipeline);
    // `host` and `0`, where there is no GPU, are other needs that the same device meets.
    let host: DeviceSelector = "host:0".parse().unwrap();
    for selector in [
        &host,
        &DeviceSelector::Auto,
        &DeviceSelector::Vendor(gst_hip::Vendor::Host),
    ] {
        let user = User::new(selector);
        pipeline.add(&user).unwrap();
        user.set_state(gst::State::Ready).unwrap();
        assert_eq!(user.device().unwrap().info().vendor, gst_hip::Vendor::Host);
        user.set_state(gst::State::Null).unwrap();
    }
    assert_eq!(announced.lock().unwrap().len(), 1);
}

/// Set for the child of the test below.
const CHILD: &str = "HIP_TEST_HOST_DEVICES_CHILD";

#[test]
fn the_environment_says_how_many_devices_the_cpu_is() {
    if std::env::var_os(CHILD).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "the_environment_says_how_many_devices_the_cpu_is",
                "--test-threads=1",
            ])
            .env(CHILD, "1")
            .env("GST_HIP_HOST_DEVICES", "3")
            .env("GST_HIP_DEVICE", "host:2")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        return assert!(status.success());
    }
    gst::init().unwrap();
    let open = |text: &str| gst_hip::env::open_device(&text.parse().unwrap());
    let devices = ["host:0", "host:1", "host:2"].map(|text| open(text).unwrap());
    assert!(devices[0] != devices[1] && devices[1] != devices[2]);
    assert_eq!(
        devices.each_ref().map(|device| device.info().ordinal),
        [0, 1, 2]
    );
    assert!(open("host:3").is_err());
    let default = gst_hip::env::default_selector().unwrap();
    assert_eq!(gst_hip::env::open_device(&default).unwrap(), devices[2]);
}

#[test]
fn the_applications_device_is_taken_before_and_when_asked() {
    let Some(device) = test_device() else { return };
    let selector = DeviceSelector::Vendor(vendor());
    let context = HipContext::new(&device).to_gst();
    for ahead in [true, false] {
        let pipeline = gst::Pipeline::new();
        let user = User::new(&selector);
        pipeline.add(&user).unwrap();
        if ahead {
            pipeline.set_context(&context);
        } else {
            let context = context.clone();
            pipeline.bus().unwrap().set_sync_handler(move |_, message| {
                if let gst::MessageView::NeedContext(need) = message.view()
                    && need.context_type() == CONTEXT_TYPE
                    && let Some(element) = message
                        .src()
                        .and_then(|source| source.downcast_ref::<gst::Element>())
                {
                    element.set_context(&context);
                }
                gst::BusSyncReply::Drop
            });
        }
        pipeline.set_state(gst::State::Ready).unwrap();
        // The device of a runtime of its own: only the context can have brought it.
        assert_eq!(user.device().as_ref(), Some(&device), "ahead: {ahead}");
        pipeline.set_state(gst::State::Null).unwrap();
        // And again after a stop.
        pipeline.set_state(gst::State::Ready).unwrap();
        assert_eq!(user.device().as_ref(), Some(&device), "ahead: {ahead}");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_neighbours_device_that_was_not_asked_for_is_not_taken() {
    gst::init().unwrap();
    // Two devices of the CPU's, which every machine has.
    let mut config = LoaderConfig::default();
    config.host_devices = 2;
    let runtime = Runtime::new(config);
    let open = |text: &str| hip_core::open_device(&runtime, &text.parse().unwrap()).unwrap();
    let second = open("host:1");
    let first: DeviceSelector = "host:0".parse().unwrap();
    let (has, wants) = (User::new(&DeviceSelector::Auto), User::new(&first));
    has.link(&wants).unwrap();
    let context = HipContext::new(&second).to_gst();
    has.set_context(&context);
    wants.set_context(&context);
    assert_eq!(has.device().as_ref(), Some(&second));
    assert_eq!(wants.device(), None);
    for pad in has.pads().iter().chain(&wants.pads()) {
        pad.set_active(true).unwrap();
    }
    let mut found = None;
    let device = ensure_device(&wants, &first, &mut found).unwrap();
    assert_eq!((device.info().ordinal, device != second), (0, true));
    // A device in use stays, even if another would do.
    let mut current = Some(second.clone());
    let zero = HipContext::new(&open("host:0")).to_gst();
    assert!(!handle_set_context(
        &has,
        &zero,
        &DeviceSelector::Auto,
        &mut current
    ));
    assert_eq!(current, Some(second));
}

#[test]
fn selectors_are_matched_against_the_device() {
    let Some(device) = test_device() else { return };
    let info = device.info();
    let mut right = vec![
        DeviceSelector::Auto,
        DeviceSelector::Vendor(info.vendor),
        DeviceSelector::Ordinal(info.vendor, info.ordinal),
    ];
    right.extend(info.pci_address.map(DeviceSelector::Pci));
    right.extend(info.uuid.map(DeviceSelector::Uuid));
    for selector in right {
        assert!(satisfies(&device, &selector), "{selector}");
    }
    for selector in [
        "amd:77",
        "nvidia:77",
        "host:77",
        "77",
        "9999:99:1f.7",
        "/dev/dri/renderD9",
    ] {
        assert!(
            !satisfies(&device, &selector.parse().unwrap()),
            "{selector}"
        );
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_a_reason() {
    gst::init().unwrap();
    let user = User::new(&DeviceSelector::Auto);
    let mut device = None;
    let selector: DeviceSelector = "host:77".parse().unwrap();
    let error = ensure_device(&user, &selector, &mut device).unwrap_err();
    assert!(error.to_string().contains("host:77"), "{error}");
    assert_eq!(device, None);
}
