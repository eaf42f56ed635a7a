//! Registries of runs with Python controllers.
//!
//! Scheme descriptions live for the rest of the program. The descriptions of Python controllers are therefore reused,
//! by name, for the next run with that name. The instances' factory is known only during a run.

use crate::python_controller::{Controller, ControllerFactory};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg::Registry;
use thalweg_catalog::schemes::window::named_scheme;
use thalweg_catalog::{ConfigError, SchemeDescription};
use thalweg_proto::congestion::interpreted_controller::ScriptedConfig;
use thalweg_sim::external_agent::AGENT;

/// A description that runs use one after the other, with the factory of its controllers during a run.
struct ReusedDescription {
    name: &'static str,
    description: &'static SchemeDescription,
    maker: Arc<Mutex<Option<Arc<ControllerFactory>>>>,
}

/// Descriptions that no run uses at present.
static UNUSED_DESCRIPTIONS: Mutex<BTreeMap<&'static str, Vec<ReusedDescription>>> =
    Mutex::new(BTreeMap::new());

impl ReusedDescription {
    fn new(name: &str) -> Self {
        let spare = UNUSED_DESCRIPTIONS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(name)
            .and_then(Vec::pop);
        if let Some(spare) = spare {
            return spare;
        }
        let name: &'static str = Box::leak(name.into());
        let maker: Arc<Mutex<Option<Arc<ControllerFactory>>>> = Arc::default();
        let shared = Arc::clone(&maker);
        let controller = move || {
            let maker = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let gone = || ConfigError::new("", "its run is over");
            maker.map(|maker| ScriptedConfig { name, script: maker }).ok_or_else(gone)
        };
        let description = named_scheme(name, "A controller of the program's own, in Python.", controller);
        Self { name, description: Box::leak(Box::new(description)), maker }
    }
}

/// The controllers of a run.
pub struct RunControllers {
    pub registry: Arc<Registry>,
    lent: Vec<(ReusedDescription, Arc<ControllerFactory>)>,
}

impl RunControllers {
    /// Registers controllers under names that no other scheme has, optionally as candidates under evaluation; the stamp
    /// distinguishes their saved runs from those of others.
    pub fn new(
        controllers: Vec<(String, Bound<'_, PyAny>)>,
        is_candidate: bool,
        stamp: &str,
    ) -> PyResult<Self> {
        let mut registry = Registry::default();
        registry.add_scheme(&AGENT);
        registry.set_stamp(stamp);
        registry.accept_unitless_numbers();
        let mut lent = Vec::new();
        for (name, make) in controllers {
            check_name_and_factory(&name, &make, &registry)?;
            let maker = Arc::new(ControllerFactory::new(make.unbind(), is_candidate));
            let description = ReusedDescription::new(&name);
            *description.maker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&maker));
            registry.add_scheme(description.description);
            lent.push((description, maker));
        }
        Ok(Self { registry: Arc::new(registry), lent })
    }

    /// Returns the exception that a run's message refers to, by its simulated time; or else the first.
    pub fn take_exception_for(&self, messages: &str) -> Option<PyErr> {
        let mut all: Vec<_> = self
            .lent
            .iter()
            .flat_map(|(lent, maker)| maker.take_raised().into_iter().map(|raised| (lent.name, raised)))
            .collect();
        let is_named = |(name, (at, _)): &(&str, (_, _))| {
            messages.contains(&format!("at {at}: the controller `{name}`"))
        };
        let place = all.iter().position(is_named).unwrap_or(0);
        (place < all.len()).then(|| all.swap_remove(place).1.1)
    }
}

impl Drop for RunControllers {
    fn drop(&mut self) {
        let mut spare = UNUSED_DESCRIPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        for (lent, _) in self.lent.drain(..) {
            *lent.maker.lock().unwrap_or_else(PoisonError::into_inner) = None;
            spare.entry(lent.name).or_default().push(lent);
        }
    }
}

fn check_name_and_factory(name: &str, make: &Bound<'_, PyAny>, registry: &Registry) -> PyResult<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        let message = format!(
            "a controller's name has small letters, digits and, after the first, `-`, and {name:?} has not"
        );
        return Err(PyValueError::new_err(message));
    }
    if registry.scheme(name).is_some() {
        return Err(PyValueError::new_err(format!(
            "there is a scheme `{name}` already; choose another name for the controller"
        )));
    }
    if !make.is_callable() {
        let kind = make.get_type().name()?;
        let message =
            format!("the controller `{name}` must be a class or a factory of instances, not of type {kind}");
        return Err(PyTypeError::new_err(message));
    }
    if let Ok(class) = make.cast::<PyType>()
        && !class.is_subclass_of::<Controller>()?
    {
        let class = class.qualname()?;
        return Err(PyTypeError::new_err(format!(
            "the class `{class}` does not derive from `thalweg.Controller`"
        )));
    }
    Ok(())
}
