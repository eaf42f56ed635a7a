//! The interface between the module and the page's scripts: texts and numbers in the module's memory.
//!
//! A caller allocates space for a request, calls [`answer`], and reads the answer's length and place from two words.
//! A panic leaves its message in the module's memory, and the module must not be called again.

// Exported names and imported functions are the interface of a module.
#![allow(unsafe_code)]

use crate::opened_traces::{Files, view_traces};
use crate::page_requests::Laboratory;
use crate::scenario_input::PageDiagnostic;
use crate::script_controller::{ControllerInstance, Event, SAMPLE_NUMBERS, Script, State};
use core::cell::RefCell;
use serde_json::json;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::CeResponse;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Returns the controller's `ecn`: 0 for none, 1 for "classic", 2 for "l4s".
    fn controller_ecn() -> u32;
    /// Creates an instance: twice its number, plus one if it takes each acknowledgement; -1 for an exception. Writes its
    /// window and pacing rate (NaN for none) to `numbers`.
    fn controller_make(seed: u32, numbers: *mut f64) -> i32;
    /// Passes an event and its numbers to an instance. Writes its window and pacing rate to `numbers`, and returns 0, or
    /// the length of an exception's message.
    fn controller_call(id: u32, event: u32, numbers: *mut f64) -> u32;
    /// Writes the message of the last exception, of at most `length` bytes, to `place`, and returns its length.
    fn controller_error(place: *mut u8, length: usize) -> usize;
    /// Writes at most `length` bytes of a file, from a place on, to `to`, and returns their number; -1 for an exception.
    fn file_read(file: usize, from: f64, to: *mut u8, length: usize) -> isize;
}

/// Maximum length of an exception's message in bytes.
const MAX_MESSAGE: usize = 1000;

/// The module's state. A module has one thread.
#[derive(Debug, Default)]
struct Module {
    laboratory: Option<Laboratory>,
    request: Vec<u8>,
    answer: Vec<u8>,
    numbers: Vec<f64>,
    /// Place and length of the last result, for the page.
    result: [usize; 2],
}

thread_local! {
    static STATE: RefCell<Module> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The page's controller.
#[derive(Debug)]
struct PageScript;

fn last_error() -> String {
    let mut message = vec![0; MAX_MESSAGE];
    // SAFETY: the page writes at most as many bytes as there are.
    let length = unsafe { controller_error(message.as_mut_ptr(), message.len()) };
    message.truncate(length);
    String::from_utf8_lossy(&message).into_owned()
}

fn controller_state([window, pacing_rate]: [f64; 2]) -> State {
    State { window, pacing_rate: (!pacing_rate.is_nan()).then_some(pacing_rate) }
}

impl Script for PageScript {
    fn response(&self) -> CeResponse {
        // SAFETY: the function takes and returns numbers.
        match unsafe { controller_ecn() } {
            1 => CeResponse::AsToLoss,
            2 => CeResponse::ControllerSpecific(Ecn::Ect1),
            _ => CeResponse::None,
        }
    }

    fn make(&self, seed: u32) -> Result<ControllerInstance, String> {
        let mut numbers = [0.0; 2];
        // SAFETY: the page writes two numbers.
        let made = unsafe { controller_make(seed, numbers.as_mut_ptr()) };
        let made = u32::try_from(made).map_err(|_| last_error())?;
        Ok(ControllerInstance { id: made / 2, per_packet: made % 2 == 1, state: controller_state(numbers) })
    }

    fn call(&self, id: u32, event: Event, numbers: &[f64; SAMPLE_NUMBERS]) -> Result<State, String> {
        let mut numbers = *numbers;
        // SAFETY: the page reads the numbers of a sample and writes the first two.
        match unsafe { controller_call(id, event as u32, numbers.as_mut_ptr()) } {
            0 => Ok(controller_state([numbers[0], numbers[1]])),
            _ => Err(last_error()),
        }
    }
}

/// The files that the reader opened.
#[derive(Debug)]
struct PageFiles;

impl Files for PageFiles {
    fn read(&self, file: usize, from: u64, to: &mut [u8]) -> Result<usize, String> {
        // SAFETY: the page writes at most as many bytes as there are.
        let count = unsafe { file_read(file, from as f64, to.as_mut_ptr(), to.len()) };
        usize::try_from(count).map_err(|_| last_error())
    }
}

/// Starts the module, with the page's controller if it has one.
#[unsafe(no_mangle)]
pub extern "C" fn start(has_controller: u32) {
    std::panic::set_hook(Box::new(|info| {
        PANIC.with_borrow_mut(|message| *message = info.to_string());
    }));
    let script: Option<Arc<dyn Script>> = if has_controller == 0 { None } else { Some(Arc::new(PageScript)) };
    STATE.with_borrow_mut(|state| state.laboratory = Some(Laboratory::new(script)));
}

/// Returns space for a request of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn space(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.request.clear();
        state.request.resize(length, 0);
        state.request.as_mut_ptr()
    })
}

/// Answers the request in the space, and returns the place of two words: the place and the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const usize {
    STATE.with_borrow_mut(|state| {
        let request = String::from_utf8_lossy(&state.request).into_owned();
        let laboratory = state.laboratory.get_or_insert_with(|| Laboratory::new(None));
        state.answer = laboratory.answer(&request).into_bytes();
        state.result = [state.answer.as_ptr() as usize, state.answer.len()];
        state.result.as_ptr()
    })
}

/// Reads the files whose names are in the space, a JSON list, and returns the place of two words: the place and the length of the
/// answer.
#[unsafe(no_mangle)]
pub extern "C" fn traces() -> *const usize {
    STATE.with_borrow_mut(|state| {
        let answer = serde_json::from_slice::<Vec<String>>(&state.request)
            .map_err(|error| vec![PageDiagnostic::error("page.request", error.to_string())])
            .and_then(|names| view_traces(&names, &PageFiles));
        let answer = match answer {
            Ok(answer) => json!({ "ok": answer }),
            Err(errors) => json!({ "errors": errors }),
        };
        state.answer = answer.to_string().into_bytes();
        state.result = [state.answer.as_ptr() as usize, state.answer.len()];
        state.result.as_ptr()
    })
}

/// Copies the points of the run's series, and returns the place of two words: the place and the number of the numbers.
#[unsafe(no_mangle)]
pub extern "C" fn points() -> *const usize {
    STATE.with_borrow_mut(|state| {
        if let Some(laboratory) = &state.laboratory {
            laboratory.points(&mut state.numbers);
        }
        state.result = [state.numbers.as_ptr() as usize, state.numbers.len()];
        state.result.as_ptr()
    })
}

/// Returns the place of two words: the place and the length of the last panic's message.
#[unsafe(no_mangle)]
pub extern "C" fn panic_message() -> *const usize {
    thread_local! {
        static RESULT: RefCell<[usize; 2]> = const { RefCell::new([0; 2]) };
    }
    PANIC.with_borrow(|message| {
        RESULT.with_borrow_mut(|result| {
            *result = [message.as_ptr() as usize, message.len()];
            result.as_ptr()
        })
    })
}
