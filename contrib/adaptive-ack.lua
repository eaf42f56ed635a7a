-- Wireshark dissector of adaptive acknowledgement: the wire format of crates/thalweg-proto/src/adaptive_ack/wire.rs.
--
-- Use: tshark -X lua_script:contrib/adaptive-ack.lua -d udp.port==5001,aack -r capture.pcap. Simulated datagrams without a
-- protocol use the same ports, so it takes none by itself; "Decode As" does the same in Wireshark.

local aack = Proto("aack", "Adaptive Acknowledgement")

local types = { [1] = "DATA", [2] = "ACK" }
local DATA, ACK = 1, 2
local VERSION, HEADER, ACK_SIZE = 1, 16, 32

local f = {
  kind = ProtoField.uint8("aack.type", "Type", base.DEC, types),
  version = ProtoField.uint8("aack.version", "Version"),
  length = ProtoField.uint32("aack.length", "Payload length"),
  sequence = ProtoField.uint64("aack.sequence", "Sequence number"),
  data = ProtoField.bytes("aack.data", "Data"),
  gap_in = ProtoField.uint64("aack.gap_in", "Gap begins"),
  gap_out = ProtoField.uint64("aack.gap_out", "Gap ends before"),
  cumulative = ProtoField.uint64("aack.cumulative", "Cumulative acknowledgement"),
}
aack.fields = f

local malformed = ProtoExpert.new("aack.malformed", "Not a packet of this protocol", expert.group.MALFORMED, expert.severity.ERROR)
aack.experts = { malformed }

function aack.dissector(buffer, info, root)
  local captured, length = buffer:captured_len(), buffer:reported_len()
  if captured < HEADER then return 0 end
  info.cols.protocol = "AACK"
  local tree = root:add(aack, buffer())
  local kind = buffer(0, 1):uint()
  tree:add(f.kind, buffer(0, 1))
  tree:add(f.version, buffer(1, 1))
  local right = buffer(1, 1):uint() == VERSION and buffer(2, 2):uint() == 0
  if right and kind == DATA and length == HEADER + buffer(4, 4):uint() then
    tree:add(f.length, buffer(4, 4))
    tree:add(f.sequence, buffer(8, 8))
    if captured > HEADER then tree:add(f.data, buffer(HEADER, captured - HEADER)) end
    info.cols.info = "DATA " .. tostring(buffer(8, 8):uint64())
  elseif right and kind == ACK and length == ACK_SIZE and captured == ACK_SIZE then
    tree:add(f.gap_in, buffer(8, 8))
    tree:add(f.gap_out, buffer(16, 8))
    tree:add(f.cumulative, buffer(24, 8))
    local from, before = buffer(8, 8):uint64(), buffer(16, 8):uint64()
    local gap = from == before and "" or string.format(", asks for %s to below %s", tostring(from), tostring(before))
    info.cols.info = string.format("ACK all below %s%s", tostring(buffer(24, 8):uint64()), gap)
  else
    tree:add_proto_expert_info(malformed)
    info.cols.info = "malformed"
  end
  return length
end

local ports = DissectorTable.get("udp.port")
ports:add_for_decode_as(aack)
