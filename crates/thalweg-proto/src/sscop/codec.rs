//! Encoding of PDUs as octets (Q.2110, clause 7.2).
//!
//! The control words form a trailer. In the last one, W1, the top octet has two bits of pad length, a reserved bit, the
//! source bit and four bits of type; the lower 24 bits are a number. Reserved bits are sent as 0 and ignored on
//! reception. The one exception is the rate field of STAT and USTAT (see [`RateField`]): 16 bits that Q.2110 reserves,
//! the upper octets of W2 and W3. A peer without rate control ignores them.

use super::pdu::{MAX_ELEMENTS, Pdu, PduKind, Source, Stat, Ustat};
use super::rate::RateField;
use super::{InvalidFrame, SequenceNumber};
use crate::payload::{Payload, Slice};

/// Maximum length of a PDU: the largest multiple of 4 in an AAL5 frame.
pub const MAX_PDU: usize = 65_532;
/// Maximum length of a message unit (k).
pub const MAX_MESSAGE: u32 = 65_528;
/// Maximum length of SSCOP-UU (j).
pub const MAX_UU: u32 = 65_524;

const SOURCE_BIT: u8 = 0x10;

impl Pdu<Slice> {
    /// Appends the PDU's octets to `out`, [`Pdu::wire_len`] of them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let pad = self.put_user_field(out);
        let mut top = pad << 6 | self.kind() as u8;
        let number = match self {
            Self::Bgn { sq, mr, .. } | Self::Rs { sq, mr, .. } | Self::Er { sq, mr } => {
                append_word(out, 0, SequenceNumber::new((*sq).into()));
                *mr
            }
            Self::Bgak { mr, .. } | Self::Rsak { mr } | Self::Erak { mr } => {
                append_word(out, 0, SequenceNumber::ZERO);
                *mr
            }
            Self::End { source, .. } => {
                append_word(out, 0, SequenceNumber::ZERO);
                top |= if *source == Source::Sscop { SOURCE_BIT } else { 0 };
                SequenceNumber::ZERO
            }
            Self::Bgrej { .. } | Self::Endak => {
                append_word(out, 0, SequenceNumber::ZERO);
                SequenceNumber::ZERO
            }
            Self::Sd { s, .. } => *s,
            Self::Ud { .. } | Self::Md { .. } => SequenceNumber::ZERO,
            Self::Poll { ps, s } => {
                append_word(out, 0, *ps);
                *s
            }
            Self::Stat(Stat { ps, mr, r, list, rate }) => {
                let [high, low] = rate.map_or([0; 2], RateField::to_octets);
                for element in list {
                    append_word(out, 0, *element);
                }
                append_word(out, high, *ps);
                append_word(out, low, *mr);
                *r
            }
            Self::Ustat(Ustat { mr, r, first, end, rate }) => {
                let [high, low] = rate.map_or([0; 2], RateField::to_octets);
                append_word(out, 0, *first);
                append_word(out, high, *end);
                append_word(out, low, *mr);
                *r
            }
        };
        append_word(out, top, number);
    }

    /// Appends the user field and its padding; returns the padding length.
    fn put_user_field(&self, out: &mut Vec<u8>) -> u8 {
        let Some(field) = self.user_field() else { return 0 };
        let pad = field.len().next_multiple_of(4) - field.len();
        out.extend_from_slice(field.as_bytes());
        out.extend_from_slice(&[0; 3][..pad as usize]);
        pad as u8
    }

    /// Decodes a PDU from the whole of `frame`.
    ///
    /// # Errors
    ///
    /// [`InvalidFrame`] if the length does not fit the type. The engine checks the user field against the negotiated
    /// maximum.
    pub fn decode(frame: &Slice) -> Result<Self, InvalidFrame> {
        let octets = frame.as_bytes();
        if octets.len() > MAX_PDU {
            return Err(InvalidFrame);
        }
        let (words, rest) = octets.as_chunks::<4>();
        let (true, Some((&[top, ..], before))) = (rest.is_empty(), words.split_last()) else {
            return Err(InvalidFrame);
        };
        let number = |index: usize| {
            let [_, a, b, c] = words[words.len() - index];
            SequenceNumber::new(u32::from_be_bytes([0, a, b, c]))
        };
        let exactly = |count: usize| if words.len() == count { Ok(()) } else { Err(InvalidFrame) };
        let at_least = |count: usize| if words.len() >= count { Ok(()) } else { Err(InvalidFrame) };
        // The octets before the last `control` words, without padding.
        let field = |control: usize| -> Result<Slice, InvalidFrame> {
            at_least(control)?;
            let length = 4 * (words.len() - control);
            let length = length.checked_sub(usize::from(top >> 6)).ok_or(InvalidFrame)?;
            Ok(frame.slice(0, length as u32))
        };
        let uu = || field(2).map(|uu| (!uu.is_empty()).then_some(uu));
        let sq = || before.last().map_or(0, |word| word[3]);
        let rate = || RateField::from_octets([words[words.len() - 3][0], words[words.len() - 2][0]]);
        let (r, mr) = (number(1), number(1));
        Ok(match PduKind::from_code(top & 0xf).ok_or(InvalidFrame)? {
            PduKind::Bgn => Self::Bgn { uu: uu()?, sq: sq(), mr },
            PduKind::Bgak => Self::Bgak { uu: uu()?, mr },
            PduKind::Bgrej => Self::Bgrej { uu: uu()? },
            PduKind::End => {
                let source = if top & SOURCE_BIT == 0 { Source::User } else { Source::Sscop };
                Self::End { uu: uu()?, source }
            }
            PduKind::Endak => exactly(2).map(|()| Self::Endak)?,
            PduKind::Rs => Self::Rs { uu: uu()?, sq: sq(), mr },
            PduKind::Rsak => exactly(2).map(|()| Self::Rsak { mr })?,
            PduKind::Er => exactly(2).map(|()| Self::Er { sq: sq(), mr })?,
            PduKind::Erak => exactly(2).map(|()| Self::Erak { mr })?,
            PduKind::Sd => Self::Sd { mu: field(1)?, s: number(1) },
            PduKind::Poll => exactly(2).map(|()| Self::Poll { ps: number(2), s: number(1) })?,
            PduKind::Stat => {
                at_least(3)?;
                let elements = words.len() - 3;
                if elements > MAX_ELEMENTS {
                    return Err(InvalidFrame);
                }
                let list = (0..elements).map(|index| number(words.len() - index)).collect();
                Self::Stat(Stat { ps: number(3), mr: number(2), r, list, rate: rate() })
            }
            PduKind::Ustat => {
                exactly(4)?;
                let (first, end, mr) = (number(4), number(3), number(2));
                Self::Ustat(Ustat { mr, r, first, end, rate: rate() })
            }
            PduKind::Ud => Self::Ud { mu: field(1)? },
            PduKind::Md => Self::Md { mu: field(1)? },
        })
    }
}

impl PduKind {
    /// All kinds, by code minus one.
    pub const ALL: [Self; 15] = [
        Self::Bgn,
        Self::Bgak,
        Self::End,
        Self::Endak,
        Self::Rs,
        Self::Rsak,
        Self::Bgrej,
        Self::Sd,
        Self::Er,
        Self::Poll,
        Self::Stat,
        Self::Ustat,
        Self::Ud,
        Self::Md,
        Self::Erak,
    ];

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// Appends a word: an octet and a 24-bit number.
fn append_word(out: &mut Vec<u8>, top: u8, number: SequenceNumber) {
    out.extend_from_slice(&(u32::from(top) << 24 | number.get()).to_be_bytes());
}
