//! Known-answer tests. They find errors that both ends share, unlike tests that connect two of them.
//!
//! The expected handshake and packets come from the Python client that was written from `docs/protocol.md`
//! (`tests/independent`), with keys of equal bytes. The vectors of the primitives are published ones.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use snow::Builder;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver as _, DefaultResolver};
use thalweg_net::handshake::{ClientParameters, Initiator, Responder, ServerParameters};
use thalweg_net::identity::Identity;
use thalweg_net::packet_protection::{Decryptor, Encryptor};
use thalweg_net::wire::{ConnectionId, write_header};

const SOURCE: ConnectionId = ConnectionId([1, 2, 3, 4, 5, 6, 7, 8]);
const SERVER: ConnectionId = ConnectionId([0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8]);

const FIRST_ANSWER: &str = "0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f20";
const RESPONSE: &str = "ff2ee45601ec1b67310c7790404585ae697331eee1c1f8cf2419731c1fff3e6bf4ec399486d193185c05ec21fc2537a1\
    9368ee7006880f506b2d8e77572eeeb14fc3a4488e9953235a5f18a68c4f94e56ae56492edba09c23a0ebf05baf63a35e3cc62ddf0c075dd\
    7d9c8b16cc35ee94fe226ada51ada420b804";
const CONFIRM: &str = "b619d80cb0582b095ff541a2fc71deb1049d14a03e02325090f32ee6cc86770af954286a82e16729634fe9df2856743f\
    354e0a28f54067b9603a1c5529d99b2cdeb71e13a0fbac60b071092305fe36d74ff7659e2ffac5bba5ddf5abb2ec05";
const BINDING: &str = "89085b57b6866165247464ab3b06834f596f140d51f038fbb1c0324229dd66f2";

/// Packets 0, 1 and 2 of the client, with a key update after two packets: a ping, a segment of five bytes, a ping.
const FROM_CLIENT: [&str; 3] = [
    "08a1a2a3a4a5a6a7a80000000096c0afc3838094b17d29837589c701c761ff8d260a304f6806",
    "08a1a2a3a4a5a6a7a800000001ef4cd5a094e82990a07cf17e071720fa49715814b145156a2ef0401746fab664e5f5",
    "08a1a2a3a4a5a6a7a800000002b6c2bc3de8273cbd6078ed0a444ad82e6d834b654432bc05c7",
];
/// The server's packet 0: a pong.
const FROM_SERVER: &str = "080102030405060708000000001e627d44c74686d864835315740aec9211649273f91fd81eae";

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Holds RFC 9001, section 5.3.
#[test]
fn the_handshake_and_its_packets_are_those_of_the_specification() {
    let (client, server) = (Identity::from_secret([0x11; 32]), Identity::from_secret([0x33; 32]));
    let from_server = ServerParameters { id: SERVER, token: [0xb0; 16], max_datagram_bytes: 1472 };
    let from_client = ClientParameters {
        token: [0xc0; 16],
        max_datagram_bytes: 1200,
        service: "bench".to_owned(),
        scheme: b"cubic".to_vec(),
    };

    let mut initiator = Initiator::new(&client, SOURCE, [0x22; 32]).unwrap();
    assert_eq!(initiator.first(), hex(FIRST_ANSWER));
    let (mut responder, response) =
        Responder::new(&server, SOURCE, [0x44; 32], &hex(FIRST_ANSWER), &from_server).unwrap();
    assert_eq!(response, hex(RESPONSE));
    assert_eq!(initiator.read(&hex(RESPONSE)).unwrap(), (from_server, server.public()));
    let (confirm, mine) = initiator.confirm(&from_client).unwrap();
    assert_eq!(confirm, hex(CONFIRM));
    let (parameters, key, theirs) = responder.read(&hex(CONFIRM)).unwrap();
    assert_eq!((parameters, key), (from_client, client.public()));
    assert_eq!((&mine.binding[..], &theirs.binding[..]), (&hex(BINDING)[..], &hex(BINDING)[..]));

    let ping: &[u8] = &[1, 0, 1, 2, 3, 4, 5, 6, 7];
    let segment: &[u8] = &[8, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, b'r', b'i', b'v', b'e', b'r'];
    let mut encryptor = Encryptor::with_epoch(mine.client, 2);
    let mut decryptor = Decryptor::with_epoch(theirs.client, 2);
    for (expected, frames) in FROM_CLIENT.iter().zip([ping, segment, ping]) {
        assert_eq!(seal(&mut encryptor, SERVER, frames), hex(expected));
        let mut packet = hex(expected);
        let (_, range) = decryptor.open(&mut packet).unwrap();
        assert_eq!(&packet[range], frames);
    }
    let pong: &[u8] = &[2, 0, 1, 2, 3, 4, 5, 6, 7];
    assert_eq!(seal(&mut Encryptor::with_epoch(theirs.server, 2), SOURCE, pong), hex(FROM_SERVER));
}

fn seal(encryptor: &mut Encryptor, to: ConnectionId, frames: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    write_header(&mut packet, to, encryptor.next_number());
    packet.extend_from_slice(frames);
    encryptor.seal(&mut packet, 0).unwrap();
    packet
}

/// RFC 7748, sections 5.2 and 6.1: secret scalar, public coordinate, shared coordinate.
const X25519: [[&str; 3]; 3] = [
    [
        "a046e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449a44",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    ],
    [
        "4866e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba4d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a413",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
    ],
    [
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
    ],
];

#[test]
fn shared_secrets_of_rfc_7748() {
    for [secret, public, shared] in X25519 {
        let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519).unwrap();
        dh.set(&hex(secret));
        let mut out = [0; 32];
        dh.dh(&hex(public), &mut out).unwrap();
        assert_eq!(out[..], hex(shared));
    }
    let bob =
        Identity::from_text("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb").unwrap();
    assert_eq!(bob.public().to_string(), "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
}

/// Test case 14 of McGrew and Viega's specification of GCM: all inputs are zero.
#[test]
fn aes_256_gcm_of_zeros() {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[0; 32]).unwrap());
    let mut text = [0; 16];
    let tag = key
        .seal_in_place_separate_tag(Nonce::assume_unique_for_key([0; 12]), Aad::empty(), &mut text)
        .unwrap();
    assert_eq!(text[..], hex("cea7403d4d606b6e074ec5d3baf39d18"));
    assert_eq!(tag.as_ref(), hex("d0d1c8a799996bf0265b98b5d48ab919"));
}

/// The first of BLAKE3's published vectors: hash and derived key of the empty input.
#[test]
fn blake3_of_nothing() {
    let hash = blake3::hash(&[]);
    assert_eq!(hash.to_hex().as_str(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    let key = blake3::derive_key("BLAKE3 2019-12-27 16:29:52 test vectors context", &[]);
    assert_eq!(key[..], hex("2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"));
}

/// The published vector of the pattern (cacophony's collection): payload and message of each turn.
const NOISE_XX: [[&str; 2]; 6] = [
    [
        "4c756477696720766f6e204d69736573",
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79444c756477696720766f6e204d69736573",
    ],
    [
        "4d757272617920526f746862617264",
        "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843757117acceb05bd7a45733bc22015c97a9d0cbaf41b80446\
         d5988ff5127235d76b79eade70f473d6a4ef521fdcbeda5340d01e028ba793fc059f2724a83af05f12dda0448a7621a926b379a92477fd",
    ],
    [
        "462e20412e20486179656b",
        "c90f1cf77eba4e50edb038991565e36c9758943a989229b6051244dc4fbecb6946744b401af2ee1a5881b65fbb87fd07cb6a328ececc9ce6\
         ce84c399dc332d4fd521fa4bb7f467ce909395",
    ],
    ["4361726c204d656e676572", "bc3fa77f6aca3e8466d7dc6bea10013e88a6a29add5132b461806c"],
    [
        "4a65616e2d426170746973746520536179",
        "250b01074cdfe0df2ecf8ccbf1737b15a2ddb5b52fd9a396604e9c793cee3b3bb9",
    ],
    [
        "457567656e2042f6686d20766f6e2042617765726b",
        "449d4d433b3cdc3d02bf6fc881774b9df54366ebcffb9689bb13f14709822cd7ef42bcdb4d",
    ],
];

#[test]
fn noise_xx_of_the_published_vector() {
    let prologue = hex("4a6f686e2047616c74");
    let initiator = [
        hex("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"),
        hex("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"),
    ];
    let responder = [
        hex("4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"),
        hex("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"),
    ];
    let mut ends = [&initiator, &responder].map(|[fixed, ephemeral]| {
        let builder = Builder::new("Noise_XX_25519_AESGCM_SHA256".parse().unwrap());
        let builder = builder.local_private_key(fixed).unwrap().prologue(&prologue).unwrap();
        let builder = builder.fixed_ephemeral_key_for_testing_only(ephemeral);
        let is_initiator = fixed == &initiator[0];
        if is_initiator { builder.build_initiator() } else { builder.build_responder() }.unwrap()
    });
    let (mut message, mut payload) = ([0; 1024], [0; 1024]);
    for (turn, [plain, sealed]) in NOISE_XX[..3].iter().enumerate() {
        let length = ends[turn % 2].write_message(&hex(plain), &mut message).unwrap();
        assert_eq!(message[..length], hex(sealed), "message {turn}");
        let length = ends[(turn + 1) % 2].read_message(&message[..length], &mut payload).unwrap();
        assert_eq!(payload[..length], hex(plain), "payload {turn}");
    }
    assert_eq!(
        ends[0].get_handshake_hash(),
        hex("1b7aefb1125762aa21a252890d00af54519638b76437444538f9a52f21e2e0dc")
    );
    let mut ends = ends.map(|end| end.into_transport_mode().unwrap());
    // The responder sends next, then both alternate.
    for (turn, [plain, sealed]) in NOISE_XX[3..].iter().enumerate() {
        let length = ends[(turn + 1) % 2].write_message(&hex(plain), &mut message).unwrap();
        assert_eq!(message[..length], hex(sealed), "transport message {turn}");
    }
}
