#!/usr/bin/env python3
"""A client of `thalweg bench server`, written from docs/protocol.md and nothing else.

    client.py HOST:PORT [BYTES [HALF_OPEN]]

Leaves a number of handshakes half-open, makes a connection (Noise XX, a cookie if one is wanted, packet protection), sends a number of bytes by the scheme `cubic`, ends its stream, reads
the server's answer, checks that the server has counted the bytes, and closes. It knows as little as such a client can: one
segment size, a fixed window, a timeout. Exit code 1, with a sentence, where the server does not keep to the specification.
Needs the packages `cryptography` (X25519, AES-GCM) and `blake3`.
"""

import hashlib
import hmac
import json
import os
import socket
import struct
import sys
import time

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = 2
HELLO, COOKIE, RESPONSE, CONFIRM, RESET, PROTECTED = 1, 2, 3, 4, 5, 8
PADDING, PING, PONG, PROBE, PROBE_ACK, CHALLENGE, PATH_RESPONSE, CLOSE, PDU_TO_END, PDU, DATAGRAM = range(11)
FLOW_PDU, FLOW_END, FLOW_END_ACK = range(3)
SEGMENT, ACK = 1, 2
FROM_CLIENT, FROM_SERVER = 0, 1
PAYLOAD = 1000
WINDOW = 16
TIMEOUT = 0.3
DEADLINE = 60.0


class SpecificationViolation(Exception):
    """The server does not keep to the specification."""


def expect(condition, what):
    if not condition:
        raise SpecificationViolation(what)


# The handshake: Noise_XX_25519_AESGCM_SHA256.

def hkdf(chaining_key, material, outputs):
    secret = hmac.digest(chaining_key, material, hashlib.sha256)
    last, result = b"", []
    for number in range(1, outputs + 1):
        last = hmac.digest(secret, last + bytes([number]), hashlib.sha256)
        result.append(last)
    return result


class Noise:
    """The symmetric state of a handshake."""

    def __init__(self, prologue):
        name = b"Noise_XX_25519_AESGCM_SHA256"
        self.hash = self.chaining_key = name.ljust(32, b"\0")
        self.key, self.nonce = None, 0
        self.mix_hash(prologue)

    def mix_hash(self, data):
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, shared):
        self.chaining_key, self.key = hkdf(self.chaining_key, shared, 2)
        self.nonce = 0

    def counter(self):
        counter = bytes(4) + struct.pack(">Q", self.nonce)
        self.nonce += 1
        return counter

    def seal(self, plain):
        sealed = AESGCM(self.key).encrypt(self.counter(), plain, self.hash)
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed):
        plain = AESGCM(self.key).decrypt(self.counter(), sealed, self.hash)
        self.mix_hash(sealed)
        return plain


def public(key):
    return key.public_key().public_bytes_raw()


def shared(key, other):
    return key.exchange(X25519PublicKey.from_public_bytes(other))


# Packets.

class Direction:
    """The keys of one direction, for its first 2^21 packets."""

    def __init__(self, secret):
        material = blake3(secret, derive_key_context="thalweg v1 packet key and vector").digest(length=44)
        self.cipher, self.vector = AESGCM(material[:32]), material[32:]

    def nonce(self, number):
        mask = bytes(4) + struct.pack(">Q", number)
        return bytes(a ^ b for a, b in zip(self.vector, mask))


class Connection:
    def __init__(self, address):
        self.open_socket(address)
        self.handshake()

    def open_socket(self, address):
        self.socket = socket.socket(socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0][0], socket.SOCK_DGRAM)
        self.socket.connect(address)
        self.source = os.urandom(8)
        self.sent = self.cookies = 0

    # Asks again until something of that kind comes.
    def request(self, packet, *kinds):
        begin = time.monotonic()
        while time.monotonic() - begin < 20:
            self.socket.send(packet)
            self.socket.settimeout(1)
            try:
                answer = self.socket.recv(65535)
            except TimeoutError:
                continue
            if answer[0] in kinds and answer[1:9] == self.source:
                return answer[0], answer[9:]
        raise SpecificationViolation(f"no packet of kind {kinds} came within 20 s")

    def hello(self, cookie, message):
        packet = bytes([HELLO, VERSION]) + self.source + bytes([len(cookie)]) + cookie
        return (packet + bytes([len(message)]) + message).ljust(1200, b"\0")

    def handshake(self):
        static, ephemeral = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        noise = Noise(b"thalweg" + bytes([VERSION]) + self.source)
        first = public(ephemeral)
        noise.mix_hash(first)
        noise.mix_hash(b"")
        kind, message = self.request(self.hello(b"", first), COOKIE, RESPONSE)
        if kind == COOKIE:
            expect(len(message) == 24, f"a cookie of {len(message)} bytes")
            self.cookies += 1
            kind, message = self.request(self.hello(message, first), RESPONSE)
        # e, ee, s, es, parameters
        remote_ephemeral = message[:32]
        noise.mix_hash(remote_ephemeral)
        noise.mix_key(shared(ephemeral, remote_ephemeral))
        remote_static = noise.decrypt(message[32:80])
        noise.mix_key(shared(ephemeral, remote_static))
        parameters = noise.decrypt(message[80:])
        self.remote_id, self.reset_token = parameters[:8], parameters[8:24]
        (self.largest,) = struct.unpack(">H", parameters[24:26])
        expect(self.largest >= 1200, f"the server takes datagrams of {self.largest} bytes at most")
        # s, se, parameters
        service, scheme = b"bench", b"cubic"
        confirm = noise.seal(public(static))
        noise.mix_key(shared(static, remote_ephemeral))
        confirm += noise.seal(
            os.urandom(16) + struct.pack(">H", 1200) + bytes([len(service)]) + service
            + struct.pack(">H", len(scheme)) + scheme)
        self.confirm = bytes([CONFIRM]) + self.remote_id + confirm
        client, server = hkdf(noise.chaining_key, b"", 2)
        self.outgoing, self.incoming = Direction(client), Direction(server)
        self.confirmed = False
        self.seen = set()
        self.socket.send(self.confirm)

    def send(self, frames):
        header = bytes([PROTECTED]) + self.remote_id + struct.pack(">I", self.sent & 0xFFFFFFFF)
        sealed = self.outgoing.cipher.encrypt(self.outgoing.nonce(self.sent), frames, header)
        self.sent += 1
        self.socket.send(header + sealed)

    def send_flow(self, flow, kind, body):
        self.send(bytes([PDU_TO_END]) + struct.pack(">H", flow) + bytes([kind]) + body)

    def receive(self, timeout):
        """The PDUs of flows in the packets that come: (flow, kind, body)."""
        self.socket.settimeout(max(timeout, 0.001))
        try:
            packet = self.socket.recv(65535)
        except TimeoutError:
            if not self.confirmed:
                self.socket.send(self.confirm)
            return []
        if packet[0] != PROTECTED or packet[1:9] != self.source:
            expect(packet[0] != RESET, "the server forgot the connection")
            return []
        (number,) = struct.unpack(">I", packet[9:13])
        try:
            frames = self.incoming.cipher.decrypt(self.incoming.nonce(number), packet[13:], packet[:13])
        except InvalidTag:
            raise SpecificationViolation(f"packet {number} of the server does not open") from None
        if number in self.seen:
            return []
        self.seen.add(number)
        self.confirmed = True
        return list(self.read(frames))

    def read(self, frames):
        at = 0
        def take(count):
            nonlocal at
            expect(at + count <= len(frames), "a frame is cut off")
            at += count
            return frames[at - count:at]
        while at < len(frames):
            kind = take(1)[0]
            if kind == PADDING:
                continue
            elif kind == PING:
                self.send(bytes([PONG]) + take(8))
            elif kind in (PONG, PATH_RESPONSE):
                take(8)
            elif kind == PROBE:
                self.send(bytes([PROBE_ACK]) + take(2))
            elif kind == PROBE_ACK:
                take(2)
            elif kind == CHALLENGE:
                self.send(bytes([PATH_RESPONSE]) + take(8))
            elif kind == CLOSE:
                code, _, length = struct.unpack(">HBH", take(5))
                raise SpecificationViolation(f"the server closed: {take(length).decode()} (code {code})")
            elif kind in (PDU_TO_END, PDU):
                (flow,) = struct.unpack(">H", take(2))
                count = len(frames) - at if kind == PDU_TO_END else struct.unpack(">H", take(2))[0]
                body = take(count)
                expect(count > 0, "a flow's PDU is empty")
                yield flow, body[0], body[1:]
            elif kind == DATAGRAM:
                take(len(frames) - at)
            else:
                raise SpecificationViolation(f"frame type {kind} is not in the specification")

    def close(self):
        self.send(struct.pack(">BHBH", CLOSE, 0, 1, 0))


class Transfer:
    """Both directions of stream 0: `cubic` segments, sent with a fixed window, and received in any order."""

    def __init__(self, connection, data):
        self.connection, self.data = connection, data
        self.acknowledged = self.next = 0
        self.granted = PAYLOAD
        self.moved = time.monotonic()
        self.end_acknowledged = False
        self.pieces, self.delivered, self.answer = {}, 0, b""
        self.answer_length = None

    def run(self):
        begin = time.monotonic()
        while not (self.end_acknowledged and self.answer_length == self.delivered):
            expect(time.monotonic() - begin < DEADLINE, f"it took more than {DEADLINE} s")
            self.write()
            for flow, kind, body in self.connection.receive(TIMEOUT / 3):
                if flow == FROM_CLIENT:
                    self.on_acknowledgement(kind, body)
                elif flow == FROM_SERVER:
                    self.on_answer(kind, body)
                else:
                    raise SpecificationViolation(f"flow {flow} was not opened")
        (length,) = struct.unpack(">I", self.answer[-4:])
        expect(length == len(self.answer) - 4, f"the answer ends with {length}, not its length {len(self.answer) - 4}")
        return json.loads(self.answer[:-4])

    def write(self):
        if time.monotonic() - self.moved > TIMEOUT:
            self.next, self.moved = self.acknowledged, time.monotonic()
            if self.acknowledged == len(self.data) and not self.end_acknowledged:
                self.send_end()
        limit = min(len(self.data), self.acknowledged + min(self.granted, WINDOW * PAYLOAD))
        while self.next < limit:
            piece = self.data[self.next:min(self.next + PAYLOAD, limit)]
            body = struct.pack(">BQ", SEGMENT << 4, self.next) + piece
            self.connection.send_flow(FROM_CLIENT, FLOW_PDU, body)
            self.next += len(piece)

    def send_end(self):
        self.connection.send_flow(FROM_CLIENT, FLOW_END, struct.pack(">QB", len(self.data), 0))

    def on_acknowledgement(self, kind, body):
        if kind == FLOW_END_ACK:
            expect(not body, "an answer to the end of a stream has a body")
            self.end_acknowledged = True
            return
        expect(kind == FLOW_PDU, f"a flow's PDU of kind {kind}")
        expect(body[0] >> 4 == ACK, f"PDU of kind {body[0] >> 4} from the receiver of a flow")
        blocks, has_arrival, counts_ce = (body[0] >> 1) & 3, body[0] & 8 != 0, body[0] & 1 != 0
        expect(len(body) == 17 + 8 * blocks + 5 * has_arrival + 2 * counts_ce,
               f"an acknowledgement with {blocks} blocks has {len(body)} bytes")
        cumulative, window = struct.unpack(">QQ", body[1:17])
        expect(cumulative <= len(self.data), "more is acknowledged than was sent")
        if cumulative > self.acknowledged:
            self.acknowledged, self.moved = cumulative, time.monotonic()
            if cumulative == len(self.data):
                self.send_end()
        self.next = max(self.next, self.acknowledged)
        self.granted = window

    def on_answer(self, kind, body):
        if kind == FLOW_END:
            length, stopped = struct.unpack(">QB", body)
            expect(stopped == 0, "the server stopped early")
            self.answer_length = length
            self.connection.send_flow(FROM_SERVER, FLOW_END_ACK, b"")
            return
        expect(kind == FLOW_PDU and body[0] >> 4 == SEGMENT, "a segment was expected")
        (sequence,) = struct.unpack(">Q", body[1:9])
        expect(len(body) > 9, "a segment has no payload")
        self.pieces[sequence] = body[9:]
        while self.delivered in self.pieces:
            piece = self.pieces.pop(self.delivered)
            self.answer += piece
            self.delivered += len(piece)
        body = struct.pack(">BQQ", ACK << 4, self.delivered, 1 << 20)
        self.connection.send_flow(FROM_SERVER, FLOW_PDU, body)


def leave_half_open(address, count):
    """Says hello so often, and nothing more: a server that has many such handshakes wants cookies."""
    for _ in range(count):
        connection = Connection.__new__(Connection)
        connection.open_socket(address)
        connection.request(connection.hello(b"", public(X25519PrivateKey.generate())), COOKIE, RESPONSE)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    address = (host.strip("[]"), int(port))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
    half_open = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    try:
        leave_half_open(address, half_open)
        connection = Connection(address)
        if half_open:
            expect(connection.cookies == 1, "a server with many half-open handshakes wanted no cookie")
        # The client sends; the time would matter if the server did.
        request = struct.pack(">BQ", 0, 1000)
        result = Transfer(connection, request + os.urandom(count)).run()
        connection.close()
        expect(result["bytes"] == count, f"{count} bytes were sent, the server counted {result['bytes']}")
    except SpecificationViolation as fault:
        sys.exit(f"against the specification: {fault}")
    how = "with a cookie" if connection.cookies else "without a cookie"
    print(f"the server took {result['bytes']} bytes in {connection.sent} packets, {how}")


if __name__ == "__main__":
    main()
