// What the shared plotting code needs of its page: the duration and warm-up of the run shown.

const model = { duration_s: 1, warmup_s: 0 };
const allSeries = [];
// Nothing follows the cursor but the plots themselves.
const onPlotCursor = () => {};
