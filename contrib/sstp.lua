-- Wireshark dissector of two-level flow control (SSTP): the wire format of crates/thalweg-proto/src/sstp/wire.rs.
--
-- Use: tshark -X lua_script:contrib/sstp.lua -r capture.pcap, or put this file into Wireshark's folder of plug-ins.
-- It takes UDP ports 5003 and 5004, which captures of simulations use; "Decode As" takes others.

-- The name in filters is sstp92, since Wireshark has another protocol of the name (Secure Socket Tunneling).
local sstp = Proto("sstp92", "Two-Level Flow Control (SSTP)")

local types = { [0] = "data", [1] = "keep-alive", [2] = "end of stream", [3] = "PACK", [4] = "SNAK" }
local DATA, SNAK, PACK = 0, 4, 3
local VERSION = 1
local FIXED, CHECKSUM = 16, 2

local f = {
  connection = ProtoField.uint32("sstp92.connection", "Connection"),
  kind = ProtoField.uint16("sstp92.type", "Type", base.DEC, types),
  version = ProtoField.uint8("sstp92.version", "Version"),
  flags = ProtoField.uint8("sstp92.flags", "Flags", base.HEX),
  last = ProtoField.bool("sstp92.flags.last", "Last packet of its segment", 8, nil, 0x01),
  resent = ProtoField.bool("sstp92.flags.resent", "Sent before", 8, nil, 0x02),
  full = ProtoField.bool("sstp92.flags.full", "Its segment is full", 8, nil, 0x04),
  shipment = ProtoField.uint32("sstp92.shipment", "Shipment number"),
  segment = ProtoField.uint16("sstp92.segment", "Segment"),
  packet = ProtoField.uint16("sstp92.packet", "Packet"),
  control = ProtoField.uint32("sstp92.control", "Control number"),
  accepted = ProtoField.uint16("sstp92.accepted", "Accepted segment"),
  cumulative = ProtoField.uint16("sstp92.cumulative", "Cumulative acknowledgement"),
  limit = ProtoField.uint16("sstp92.limit", "Window upper limit"),
  asked = ProtoField.uint16("sstp92.asked", "Segment asked for"),
  bitmap = ProtoField.bytes("sstp92.bitmap", "Bitmap"),
  missing = ProtoField.string("sstp92.missing", "Packets asked for"),
  data = ProtoField.bytes("sstp92.data", "Data"),
  checksum = ProtoField.uint16("sstp92.checksum", "Checksum", base.HEX),
  status = ProtoField.uint8("sstp92.checksum.status", "Checksum status", base.DEC,
    { [0] = "Bad", [1] = "Good", [2] = "Unverified" }),
}
sstp.fields = f

local malformed = ProtoExpert.new("sstp92.malformed", "Not a packet of this protocol", expert.group.MALFORMED, expert.severity.ERROR)
local damaged = ProtoExpert.new("sstp92.checksum.bad", "The checksum is wrong", expert.group.CHECKSUM, expert.severity.ERROR)
sstp.experts = { malformed, damaged }

-- The Internet checksum of what comes before the checksum (RFC 1071), with a zero after an odd number of bytes.
local function checksum(buffer, length)
  local sum = 0
  for at = 0, length - 2, 2 do
    sum = sum + buffer(at, 2):uint()
  end
  if length % 2 == 1 then
    sum = sum + buffer(length - 1, 1):uint() * 256
  end
  while sum > 0xffff do
    sum = (sum % 0x10000) + math.floor(sum / 0x10000)
  end
  return 0xffff - sum
end

-- The packets of a bitmap with a 0.
local function missing(buffer, at, length)
  local list = {}
  for byte = 0, length - 1 do
    local value = buffer(at + byte, 1):uint()
    for bit = 0, 7 do
      if math.floor(value / 2 ^ (7 - bit)) % 2 == 0 then
        list[#list + 1] = tostring(byte * 8 + bit)
      end
    end
  end
  return table.concat(list, ",")
end

function sstp.dissector(buffer, info, root)
  local captured, length = buffer:captured_len(), buffer:reported_len()
  if captured < FIXED then return 0 end
  info.cols.protocol = "SSTP"
  local tree = root:add(sstp, buffer())
  local kind = buffer(4, 2):uint()
  tree:add(f.connection, buffer(0, 4))
  tree:add(f.kind, buffer(4, 2))
  tree:add(f.version, buffer(6, 1))
  local flags = tree:add(f.flags, buffer(7, 1))
  local body = length - FIXED - CHECKSUM
  local name = types[kind]
  local is_right = name ~= nil and buffer(6, 1):uint() == VERSION
    and ((kind == DATA and body > 0) or (kind == PACK and body == 2) or (kind == SNAK and body > 4)
      or ((kind == 1 or kind == 2) and body == 0))
  if not is_right then
    tree:add_proto_expert_info(malformed)
    info.cols.info = "malformed"
    return length
  end
  local text
  if kind < PACK then
    flags:add(f.last, buffer(7, 1))
    flags:add(f.resent, buffer(7, 1))
    flags:add(f.full, buffer(7, 1))
    tree:add(f.shipment, buffer(8, 4))
    tree:add(f.segment, buffer(12, 2))
    tree:add(f.packet, buffer(14, 2))
    text = string.format("%s %d: segment %d, packet %d", name, buffer(8, 4):uint(), buffer(12, 2):uint(), buffer(14, 2):uint())
    if kind == DATA then
      local there = math.min(body, captured - FIXED)
      if there > 0 then tree:add(f.data, buffer(FIXED, there)) end
      if buffer(7, 1):bitfield(6, 1) == 1 then text = text .. " (again)" end
    end
  else
    tree:add(f.control, buffer(8, 4))
    tree:add(f.accepted, buffer(12, 2))
    tree:add(f.cumulative, buffer(14, 2))
    text = string.format("%s %d: accepted %d, all below %d", name, buffer(8, 4):uint(), buffer(12, 2):uint(), buffer(14, 2):uint())
    if captured >= 18 then
      tree:add(f.limit, buffer(16, 2))
      text = text .. string.format(", up to %d", buffer(16, 2):uint())
    end
    if kind == SNAK and captured >= length then
      tree:add(f.asked, buffer(18, 2))
      tree:add(f.bitmap, buffer(20, body - 4))
      local packets = missing(buffer, 20, body - 4)
      tree:add(f.missing, buffer(20, body - 4), packets)
      text = text .. string.format(", wants %s of %d", packets, buffer(18, 2):uint())
    end
  end
  if captured >= length then
    tree:add(f.checksum, buffer(length - CHECKSUM, CHECKSUM))
    local good = checksum(buffer, length - CHECKSUM) == buffer(length - CHECKSUM, CHECKSUM):uint()
    tree:add(f.status, good and 1 or 0):set_generated()
    if not good then tree:add_proto_expert_info(damaged) end
  else
    tree:add(f.status, 2):set_generated()
  end
  info.cols.info = text
  return length
end

local ports = DissectorTable.get("udp.port")
ports:add(5003, sstp)
ports:add(5004, sstp)
