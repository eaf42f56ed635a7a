// The engine: a WebAssembly module that answers requests in JSON. Part of the worker.

class Engine {
  #exports;
  // Copies bytes of files, while they are read.
  #files = null;

  constructor(module, hasController) {
    const memory = () => this.#exports.memory;
    const imports = { page: { ...controllerImports(memory), file_read: (file, from, place, length) => this.#fileRead(file, from, place, length) } };
    this.#exports = new WebAssembly.Instance(module, imports).exports;
    this.#exports.start(hasController ? 1 : 0);
  }

  // Returns the two words at a place: a place and a length.
  #words(place) {
    return new Uint32Array(this.#exports.memory.buffer, place, 2);
  }

  #text(words) {
    const [place, length] = words;
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, place, length));
  }

  // Returns the answer to a request: its value, or an exception with `errors`, a list of diagnostics.
  ask(request) {
    return this.#ask(request, () => this.#exports.answer());
  }

  // Returns the page of files of these names; `files` copies their bytes.
  traces(names, files) {
    this.#files = files;
    return this.#ask(names, () => this.#exports.traces());
  }

  // Returns the size of its memory in bytes, which never shrinks.
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }

  #fileRead(file, from, place, length) {
    try {
      return this.#files(file, from, new Uint8Array(this.#exports.memory.buffer, place, length));
    } catch (error) {
      controllers.error = error.message;
      return -1;
    }
  }

  #ask(request, call) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    let text;
    try {
      const place = this.#exports.space(bytes.length);
      new Uint8Array(this.#exports.memory.buffer, place, bytes.length).set(bytes);
      text = this.#text(this.#words(call()));
    } catch (error) {
      throw this.#broken(error);
    }
    const answer = JSON.parse(text);
    if (answer.errors) throw Object.assign(new Error(answer.errors[0].message), { errors: answer.errors });
    return answer.ok;
  }

  // Returns a copy of the points of all series: for each its number of points, its times and its values.
  points() {
    const [place, length] = this.#words(this.#exports.points());
    return new Float64Array(this.#exports.memory.buffer, place, length).slice();
  }

  // A panic left its message; anything else is the browser's, such as memory that is used up.
  #broken(error) {
    const message = this.#text(this.#words(this.#exports.panic_message()));
    const text = message ? `the engine has ended: ${message}; please report it` : `the engine has ended: ${error.message}`;
    return Object.assign(new Error(text), { isBroken: true });
  }
}
