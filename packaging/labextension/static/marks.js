// @ts-check
// Marks the state of each node of a run by a style sheet, without touching Xircuits' elements.

const STATES = {
  running: { colour: '#1976d2', width: '3px', sign: '◌ running' },
  done: { colour: '#2e7d32', width: '1px', sign: '✓' },
  failed: { colour: '#d32f2f', width: '3px', sign: '✗ failed' },
  stopped: { colour: '#b26a00', width: '3px', sign: '■ stopped' },
};

export class Marks {
  constructor(shell) {
    this.shell = shell;
    this.paths = /** @type {Map<string, Record<string, any>>} */ (new Map());
    this.style = document.createElement('style');
    document.head.append(this.style);
  }

  /** Replace the marks of a workflow. `nodes` are states by node id. */
  set(path, nodes) {
    this.paths.set(path, nodes);
    this.draw();
  }

  draw() {
    const documents = [...this.shell.widgets('main')].filter(x => this.paths.has(x.context?.path));
    for (const widget of documents) widget.node.dataset.xaiRun = widget.context.path;
    const rules = [...this.paths].flatMap(([path, nodes]) =>
      Object.values(nodes).map(node => rule(path, node)));
    this.style.textContent = rules.join('\n');
  }
}

function rule(path, { node, state, ms, time }) {
  const { colour, width, sign } = STATES[state];
  const seconds = Math.max(0, Math.floor(Date.now() / 1000 - time));
  const text = { running: `${sign} ${seconds} s`, done: `${sign} ${duration(ms)}` }[state] ?? sign;
  const place = `[data-xai-run=${JSON.stringify(path)}] div.node[data-nodeid=${JSON.stringify(node)}]`;
  const pulse = state === 'running' ? ' --xai-pulse: xai-pulse 1.2s infinite alternate;' : '';
  return `${place} { --xai-mark: "${text}"; --xai-colour: ${colour}; --xai-width: ${width};${pulse} }`;
}

const duration = ms => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
