// What a reader does on the laboratory page.

export function steps(page, url) {
  const text = (selector) => page.run(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`);

  // Waits until an expression in the page holds.
  async function wait(expression, seconds = 60) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
      if (await page.run(`Boolean(${expression})`).catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    const seen = await page.run("[document.documentElement.dataset.run, document.querySelector('#status')?.textContent, document.querySelector('#errors')?.textContent, document.querySelector('#notice')?.textContent].join(' | ')");
    throw new Error(`not within ${seconds} s: ${expression}; the page: ${seen}; errors: ${page.problems.join("; ")}`);
  }

  // A click where the element is; it must be visible.
  async function click(selector) {
    const place = await page.run(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      if (!element) return null;
      for (let parent = element.closest('details'); parent; parent = parent.parentElement?.closest('details')) if (!parent.querySelector(':scope > summary')?.contains(element)) parent.open = true;
      element.scrollIntoView({ block: 'center' });
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2, width };
    })()`);
    if (!place || place.width === 0) throw new Error(`nothing to click: ${selector}`);
    await page.mouse("mousePressed", place.x, place.y);
    await page.mouse("mouseReleased", place.x, place.y);
  }

  // Opens the page anew, with this part of the address.
  async function open(hash = "", width = 1280, height = 900, scheme = "light") {
    await page.send("Page.navigate", { url: "about:blank" });
    page.problems.length = 0;
    page.requests.length = 0;
    await page.open(url + hash, width, height, scheme);
    await wait("document.documentElement.dataset.ready === 'true'");
  }

  // Waits for the end of the run, with another fingerprint than `before`.
  async function ran(before = null) {
    const other = before ? ` && document.querySelector('#fingerprint')?.textContent !== ${JSON.stringify(before)}` : "";
    await wait(`document.documentElement.dataset.run === 'none' && document.querySelector('#fingerprint') && document.querySelector('#status').textContent.startsWith('Finished')${other}`);
  }

  // Chooses an option of the first list with this label.
  async function choose(label, value) {
    await page.run(`(() => {
      const label = [...document.querySelectorAll('#controls label')].find((of) => of.textContent.startsWith(${JSON.stringify(label)}));
      const select = document.getElementById(label.htmlFor);
      select.value = ${JSON.stringify(value)};
      select.dispatchEvent(new Event('change'));
    })()`);
  }

  // Moves the first slider with this label by keys.
  async function slide(label, presses) {
    await page.run(`document.getElementById([...document.querySelectorAll('#controls label')].find((of) => of.textContent.startsWith(${JSON.stringify(label)})).htmlFor).focus()`);
    await page.run(`(() => {
      const input = document.activeElement;
      input.value = String(Number(input.value) - ${presses});
      input.dispatchEvent(new Event('input'));
    })()`);
    for (const type of ["keyDown", "keyUp"]) {
      await page.send("Input.dispatchKeyEvent", { type, key: "ArrowLeft", code: "ArrowLeft", windowsVirtualKeyCode: 37 });
    }
  }

  return { text, wait, click, open, ran, choose, slide };
}
