// The engine: a WebAssembly module that answers requests in JSON. Part of the worker.

class Engine {
  #exports;

  constructor(module, hasController) {
    const imports = { page: controllerImports(() => this.#exports.memory) };
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
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    let text;
    try {
      const place = this.#exports.space(bytes.length);
      new Uint8Array(this.#exports.memory.buffer, place, bytes.length).set(bytes);
      text = this.#text(this.#words(this.#exports.answer()));
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
