// Files that the reader opened, for the engine. Part of the worker.

// Bytes read at once: each call of the browser takes a part of a millisecond.
const CHUNK_BYTES = 8 << 20;

// Returns a function that copies bytes of the files into memory; `onRead` receives the bytes read of all files so far.
function filesReader(files, onRead) {
  const reader = new FileReaderSync();
  let held = { file: -1, from: 0, bytes: new Uint8Array(0) };
  let read = 0;
  return (file, from, to) => {
    const isHeld = held.file === file && from >= held.from && from < held.from + held.bytes.length;
    if (!isHeld) {
      let bytes;
      try {
        bytes = new Uint8Array(reader.readAsArrayBuffer(files[file].slice(from, from + CHUNK_BYTES)));
      } catch (error) {
        throw new Error(`the browser cannot read it (${error.name}): was it changed or removed?`);
      }
      held = { file, from, bytes };
      read += bytes.length;
      onRead(read);
    }
    const part = held.bytes.subarray(from - held.from, from - held.from + to.length);
    to.set(part);
    return part.length;
  };
}
