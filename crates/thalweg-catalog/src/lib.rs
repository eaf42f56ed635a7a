//! The list of transport schemes and of queue disciplines.
//!
//! Each is described once: its name, its keys with their kinds, ranges and usual values, what must hold between keys, and
//! how it is made from values. Scenario files, the text of the command line, the JSON Schema, the references, written-out
//! scenarios and what peers exchange are all read from these descriptions.
