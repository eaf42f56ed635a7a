//! Events, as far as they are used. Fields of another type than expected count as missing: writers differ.

use core::fmt;
use core::marker::PhantomData;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;

/// An event.
#[derive(Debug, Default)]
pub(crate) struct Event<'de> {
    /// Time, in the unit and format of the trace.
    pub time: f64,
    /// Category and name, as written: `transport:packet_sent`, or the name alone.
    pub category: Cow<'de, str>,
    pub name: Cow<'de, str>,
    pub group: Cow<'de, str>,
    pub data: Data<'de>,
}

/// Data of an event: all fields that any event is read for.
#[derive(Debug, Default)]
pub(crate) struct Data<'de> {
    pub packet_type: Cow<'de, str>,
    pub space: Cow<'de, str>,
    pub number: Option<u64>,
    pub numbers: Vec<u64>,
    pub size: Option<f64>,
    pub payload: Option<f64>,
    pub has_frames: bool,
    pub frames: Frames,
    pub in_flight: Option<f64>,
    pub window: Option<f64>,
    pub ssthresh: Option<f64>,
    pub latest_rtt: Option<f64>,
    pub min_rtt: Option<f64>,
    pub smoothed_rtt: Option<f64>,
    pub pacing_rate: Option<f64>,
    pub delivery_rate: Option<f64>,
    pub pto_count: Option<f64>,
    pub timer: Cow<'de, str>,
    pub timer_event: Cow<'de, str>,
    pub scheme: Cow<'de, str>,
    pub owner: Cow<'de, str>,
    pub initial_max_data: Option<f64>,
    pub local: Address,
    pub remote: Address,
    pub is_ce: bool,
}

/// An address with its port.
#[derive(Debug, Default)]
pub(crate) struct Address {
    pub ip: String,
    pub port: String,
}

/// Content of a packet.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Data of streams: stream, offset and length. CRYPTO data has stream [`CRYPTO`].
    pub data: Vec<(u64, u64, u64)>,
    /// Bytes of datagrams.
    pub datagrams: u64,
    /// Acknowledged packets, as inclusive ranges.
    pub acked: Vec<(u64, u64)>,
    pub is_ack: bool,
    /// True if the packet elicits an acknowledgement (RFC 9000, section 13.2).
    pub elicits: bool,
    pub max_data: Option<u64>,
    pub max_stream_data: bool,
    pub is_blocked: bool,
}

/// Stream number of CRYPTO data.
pub(crate) const CRYPTO: u64 = u64::MAX;

/// Columns of events that are arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(Vec<String>);

impl Columns {
    /// Takes the names of columns from the field of a trace.
    pub(super) fn from_json(value: &Value) -> Self {
        let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        Self(names.map(str::to_ascii_lowercase).collect())
    }
}

impl<'de> Event<'de> {
    /// Reads an event; `None` for an array without elements.
    pub(super) fn read(text: &'de [u8], columns: &Columns) -> Result<Option<Self>, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_slice(text);
        let visitor = EventVisitor(columns);
        let event = (&mut from).deserialize_any(visitor)?;
        Ok(event)
    }
}

struct EventVisitor<'c>(&'c Columns);

impl<'de> Visitor<'de> for EventVisitor<'_> {
    type Value = Option<Event<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event: an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut event = Event { time: f64::NAN, ..Event::default() };
        while let Some(Text(key)) = map.next_key()? {
            event.field(&key, &mut map)?;
        }
        Ok(Some(event))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut event = Event { time: f64::NAN, ..Event::default() };
        let mut texts = 0;
        let mut count = 0;
        while let Some(element) = list.next_element::<AnyValue<Element<'de>>>()? {
            let column = self.0.0.get(count).map_or("", String::as_str);
            count += 1;
            match element.0 {
                Element::Data(data) => event.data = *data,
                // Numbers may be texts.
                Element::Number(number) if event.time.is_nan() && !column.contains("id") => {
                    event.time = number;
                }
                Element::Text(text) if event.time.is_nan() && text.parse::<f64>().is_ok() => {
                    event.time = text.parse().unwrap_or(f64::NAN);
                }
                Element::Text(text) if column == "group_id" => event.group = text,
                Element::Text(text) => {
                    texts += 1;
                    match texts {
                        1 => event.category = text,
                        2 => event.name = text,
                        _ => {}
                    }
                }
                Element::Number(_) | Element::Other => {}
            }
        }
        Ok((count > 0).then_some(event))
    }
}

impl<'de> Event<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "time" | "relative_time" | "delta_time" => self.time = next_number(map)?.unwrap_or(f64::NAN),
            "name" | "event" | "event_type" | "type" => self.name = next_text(map)?,
            "category" => self.category = next_text(map)?,
            "group_id" => self.group = next_text(map)?,
            "data" => self.data = map.next_value::<AnyValue<Data<'de>>>()?.0,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

/// Type that is filled from a JSON value of any kind. The kinds that it does not use are skipped.
trait Take<'de>: Default {
    fn number(&mut self, _: f64) {}
    fn integer(&mut self, number: u64) {
        self.number(number as f64);
    }
    fn text(&mut self, _: Cow<'de, str>) {}
    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Deserialised value of any kind.
struct AnyValue<T>(T);

impl<'de, T: Take<'de>> Deserialize<'de> for AnyValue<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any<T>(PhantomData<T>);
        impl<'de, T: Take<'de>> Visitor<'de> for Any<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_bool<E>(self, _: bool) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_unit<E>(self) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_u64<E>(self, number: u64) -> Result<T, E> {
                let mut value = T::default();
                value.integer(number);
                Ok(value)
            }
            fn visit_i64<E>(self, number: i64) -> Result<T, E> {
                let mut value = T::default();
                value.number(number as f64);
                Ok(value)
            }
            fn visit_f64<E>(self, number: f64) -> Result<T, E> {
                let mut value = T::default();
                value.number(number);
                Ok(value)
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
                let mut value = T::default();
                value.text(Cow::Borrowed(text));
                Ok(value)
            }
            fn visit_str<E>(self, text: &str) -> Result<T, E> {
                let mut value = T::default();
                value.text(Cow::Owned(text.to_owned()));
                Ok(value)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
                let mut value = T::default();
                value.list(list)?;
                Ok(value)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                let mut value = T::default();
                value.map(map)?;
                Ok(value)
            }
        }
        from.deserialize_any(Any(PhantomData)).map(AnyValue)
    }
}

/// Key of an object.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        AnyValue::<Cow<'de, str>>::deserialize(from).map(|text| Self(text.0))
    }
}

impl<'de> Take<'de> for Cow<'de, str> {
    fn text(&mut self, text: Cow<'de, str>) {
        *self = text;
    }
    fn integer(&mut self, number: u64) {
        *self = Cow::Owned(number.to_string());
    }
}

impl<'de> Take<'de> for Option<f64> {
    fn number(&mut self, number: f64) {
        *self = Some(number);
    }
    fn text(&mut self, text: Cow<'de, str>) {
        *self = text.parse().ok();
    }
}

impl<'de> Take<'de> for Option<u64> {
    fn integer(&mut self, number: u64) {
        *self = Some(number);
    }
    fn number(&mut self, number: f64) {
        // Packet numbers have 62 bits; some writers have only floating-point numbers.
        *self = (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64);
    }
    fn text(&mut self, text: Cow<'de, str>) {
        *self = text.parse().ok();
    }
}

fn next_number<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<f64>, A::Error> {
    map.next_value::<AnyValue<Option<f64>>>().map(|value| value.0)
}

fn next_integer<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<u64>, A::Error> {
    map.next_value::<AnyValue<Option<u64>>>().map(|value| value.0)
}

fn next_text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Cow<'de, str>, A::Error> {
    map.next_value::<AnyValue<Cow<'de, str>>>().map(|value| value.0)
}

/// Element of an event that is an array.
#[derive(Default)]
enum Element<'de> {
    Number(f64),
    Text(Cow<'de, str>),
    Data(Box<Data<'de>>),
    #[default]
    Other,
}

impl<'de> Take<'de> for Element<'de> {
    fn number(&mut self, number: f64) {
        *self = Self::Number(number);
    }
    fn text(&mut self, text: Cow<'de, str>) {
        *self = Self::Text(text);
    }
    fn map<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        let mut data = Data::default();
        data.map(map)?;
        *self = Self::Data(Box::new(data));
        Ok(())
    }
}

impl<'de> Take<'de> for Data<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let map = &mut map;
        let mut remainder = None;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "packet_type" => self.packet_type = next_text(map)?,
                "type" if self.packet_type.is_empty() => self.packet_type = next_text(map)?,
                "header" => {
                    let header = map.next_value::<AnyValue<Header<'de>>>()?.0;
                    self.number = self.number.or(header.number);
                    self.size = self.size.or(header.size);
                    self.payload = self.payload.or(header.payload);
                    remainder = header.remainder;
                    if !header.kind.is_empty() {
                        self.packet_type = header.kind;
                    }
                }
                "raw" => {
                    let raw = map.next_value::<AnyValue<RawInfo>>()?.0;
                    self.size = raw.length.or(self.size);
                    self.payload = raw.payload.or(self.payload);
                }
                "packet_number" | "largest_lost_packet_num" => self.number = next_integer(map)?,
                "packet_numbers" => self.numbers = map.next_value::<AnyValue<Numbers>>()?.0.0,
                "packet_number_space" => self.space = next_text(map)?,
                "packet_size" => self.size = next_number(map)?,
                "frames" => {
                    self.has_frames = true;
                    self.frames = map.next_value::<AnyValue<Frames>>()?.0;
                }
                "bytes_in_flight" => self.in_flight = next_number(map)?,
                "cwnd" | "congestion_window" | "current_cwnd" => self.window = next_number(map)?,
                "ssthresh" => self.ssthresh = next_number(map)?,
                "latest_rtt" => self.latest_rtt = next_number(map)?,
                "min_rtt" => self.min_rtt = next_number(map)?,
                "smoothed_rtt" => self.smoothed_rtt = next_number(map)?,
                "pacing_rate" => self.pacing_rate = next_number(map)?,
                "delivery_rate" | "cf_delivery_rate" => self.delivery_rate = next_number(map)?,
                "pto_count" => self.pto_count = next_number(map)?,
                "timer_type" => self.timer = next_text(map)?,
                "event_type" => self.timer_event = next_text(map)?,
                "congestion_control" | "cc_algorithm" | "congestion_control_algorithm" => {
                    self.scheme = next_text(map)?;
                }
                "owner" | "initiator" => self.owner = next_text(map)?,
                "initial_max_data" => self.initial_max_data = next_number(map)?,
                "src_ip" => self.local.ip = next_text(map)?.into_owned(),
                "dst_ip" => self.remote.ip = next_text(map)?.into_owned(),
                "src_port" => self.local.port = next_text(map)?.into_owned(),
                "dst_port" => self.remote.port = next_text(map)?.into_owned(),
                "local" => self.local = map.next_value::<AnyValue<Address>>()?.0,
                "remote" => self.remote = map.next_value::<AnyValue<Address>>()?.0,
                "ecn" => self.is_ce = next_text(map)?.eq_ignore_ascii_case("ce"),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        // A field of long headers; quinn has the size of the packet there.
        self.size = self.size.or(remainder);
        Ok(())
    }
}

impl<'de> Take<'de> for Address {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let map = &mut map;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "ip" | "ip_v4" | "ip_v6" => self.ip = next_text(map)?.into_owned(),
                "port" | "port_v4" | "port_v6" => self.port = next_text(map)?.into_owned(),
                "address_v4" | "address_v6" => {
                    let inner = map.next_value::<AnyValue<Self>>()?.0;
                    if self.ip.is_empty() {
                        *self = inner;
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Header<'de> {
    kind: Cow<'de, str>,
    number: Option<u64>,
    size: Option<f64>,
    payload: Option<f64>,
    /// The field Length (RFC 9000, section 17.2).
    remainder: Option<f64>,
}

impl<'de> Take<'de> for Header<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let map = &mut map;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "packet_type" | "type" => self.kind = next_text(map)?,
                "packet_number" => self.number = next_integer(map)?,
                "packet_size" => self.size = next_number(map)?,
                "payload_length" => self.payload = next_number(map)?,
                "length" => self.remainder = next_number(map)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct RawInfo {
    length: Option<f64>,
    payload: Option<f64>,
}

impl<'de> Take<'de> for RawInfo {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let map = &mut map;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "length" => self.length = next_number(map)?,
                "payload_length" => self.payload = next_number(map)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Packet numbers; ranges of two count as all in between.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl<'de> Take<'de> for Numbers {
    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(AnyValue(number)) = list.next_element::<AnyValue<Option<u64>>>()? {
            self.0.extend(number);
        }
        Ok(())
    }
}

impl<'de> Take<'de> for Frames {
    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(AnyValue(frame)) = list.next_element::<AnyValue<Frame<'de>>>()? {
            self.add(frame);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Frame<'de> {
    kind: Cow<'de, str>,
    ranges: AckedRanges,
    stream: Option<u64>,
    offset: Option<u64>,
    length: Option<u64>,
    limit: Option<u64>,
}

impl<'de> Take<'de> for Frame<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let map = &mut map;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "frame_type" | "type" => self.kind = next_text(map)?,
                "acked_ranges" | "blocks" => self.ranges = map.next_value::<AnyValue<AckedRanges>>()?.0,
                "stream_id" | "id" => self.stream = next_integer(map)?,
                "offset" => self.offset = next_integer(map)?,
                "length" => self.length = next_integer(map)?,
                "maximum" | "limit" | "maximum_data" => self.limit = next_integer(map)?,
                "raw" => {
                    let raw = map.next_value::<AnyValue<RawInfo>>()?.0;
                    let length = raw.payload.or(raw.length).filter(|length| (0.0..9e15).contains(length));
                    self.length = self.length.or(length.map(|length| length as u64));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct AckedRanges(Vec<(u64, u64)>);

impl<'de> Take<'de> for AckedRanges {
    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(AnyValue(range)) = list.next_element::<AnyValue<Numbers>>()? {
            match range.0[..] {
                [number] => self.0.push((number, number)),
                [first, last] => self.0.push((first.min(last), first.max(last))),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Frames {
    fn add(&mut self, frame: Frame<'_>) {
        let Frame { kind, ranges, stream, offset, length, limit } = frame;
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        if is("ack") {
            self.is_ack = true;
            self.acked.extend(ranges.0);
            return;
        }
        if is("padding") || is("connection_close") {
            return;
        }
        self.elicits = true;
        if is("stream") {
            self.data.push((stream.unwrap_or(0).min(CRYPTO - 1), offset.unwrap_or(0), length.unwrap_or(0)));
        } else if is("crypto") {
            self.data.push((CRYPTO, offset.unwrap_or(0), length.unwrap_or(0)));
        } else if is("datagram") {
            self.datagrams = self.datagrams.saturating_add(length.unwrap_or(0));
        } else if is("max_data") {
            self.max_data = limit;
        } else if is("max_stream_data") {
            self.max_stream_data = true;
        } else if is("data_blocked") || is("stream_data_blocked") {
            self.is_blocked = true;
        }
    }
}
