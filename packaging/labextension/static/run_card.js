// @ts-check
// Shows the card of an agent's run as the lab shows any HTML, sanitised by the lab, and keeps the
// answer in view in Xircuits' output panel, or the end where there is no card: the panel scrolls to
// its end before that is drawn, and may lie behind another tab.

const NAME = 'xai-mcp-agent';
const KIND = 'application/vnd.xai-mcp-agent.card+json'; // {id, state}; the card is its text/html
const PANEL = 'xircuit-output-panel';
const EXECUTE = 'Xircuit-output-panel:execute';
const AREA = '.jp-OutputArea';
const OUTPUT = '.jp-OutputArea-child';
const LINES = 'application/vnd.jupyter.stdout';
const BY_HAND = ['wheel', 'pointerdown', 'keydown', 'touchstart'];
const TYPED_IN = 'input, textarea, select, iframe';

let held = null; // the finished card that is kept in view
let followed = null; // the run whose end is kept in view where no card is
let tab = null; // of the panel, when the lab has begun

// Brings the panel in front of its neighbours, once in a run, without the keyboard's focus.
// Whoever saw it in this run and left it does not want it back.
class PanelTab {
  constructor(app) {
    this.shell = app.shell;
    this.isWanted = false;
    this.changes = new MutationObserver(() => { this.isWanted &&= !this.panel.isVisible; });
    app.commands.commandExecuted.connect((_, { id, result }) => {
      if (id === EXECUTE) result.then(() => this.begin());
    });
  }

  begin() {
    this.panel = [...this.shell.widgets('main')].find(x => x.id === PANEL);
    for (const last of [held, followed]) last?.release();
    const scroller = this.panel?.node.querySelector(AREA);
    followed = scroller ? new Follow(scroller) : null;
    this.changes.disconnect();
    this.isWanted = Boolean(this.panel && !this.panel.isVisible);
    if (this.isWanted) this.changes.observe(this.panel.node, { attributeFilter: ['class'] });
  }

  bringForward() {
    if (!this.isWanted || this.isTypedOver()) return;
    this.isWanted = false;
    this.panel.parent?.selectWidget?.(this.panel); // `activate` would take the focus
  }

  isTypedOver() {
    // What is in front of it would lose the focus by being hidden.
    const at = document.activeElement;
    if (!at?.isContentEditable && !at?.matches(TYPED_IN)) return false;
    const bars = [...this.panel.parent?.tabBars?.() ?? []];
    const bar = bars.find(x => x.titles.includes(this.panel.title));
    return Boolean(bar?.currentTitle?.owner.node.contains(at));
  }
}

const scrolls = node => ['auto', 'scroll'].includes(getComputedStyle(node).overflowY);

function scrollerOf(node) {
  const panel = node.closest(`#${PANEL}`);
  if (!panel) return null; // in notebooks and elsewhere nothing is scrolled
  let at = node.parentElement;
  while (at !== panel && !scrolls(at)) at = at.parentElement;
  return at;
}

function endsWith(output) {
  // Lines may follow the card; an error, a question or another card is what to look at then.
  for (let next = output.nextElementSibling; next; next = next.nextElementSibling) {
    const kind = next.querySelector('[data-mime-type]')?.getAttribute('data-mime-type');
    if (kind && kind !== LINES && next.style.display !== 'none') return false;
  }
  return true;
}

// Keeps something in view whatever is drawn, until somebody looks elsewhere.
class Keeper {
  constructor(scroller, node = null) {
    this.scroller = scroller;
    this.node = node;
    this.watch = () => this.keep();
    this.leave = () => this.release();
    this.changes = new MutationObserver(this.watch);
    this.changes.observe(scroller, { childList: true, subtree: true, characterData: true });
    this.sizes = new ResizeObserver(this.watch);
    for (const part of [scroller, node]) if (part) this.sizes.observe(part);
    for (const kind of BY_HAND) {
      scroller.addEventListener(kind, this.leave, { capture: true, passive: true });
    }
    this.keep();
  }

  release() {
    this.changes.disconnect();
    this.sizes.disconnect();
    for (const kind of BY_HAND) {
      this.scroller.removeEventListener(kind, this.leave, { capture: true });
    }
  }
}

// The end of a run, as the panel means to.
class Follow extends Keeper {
  keep() {
    if (!held) this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

// A finished card.
class Hold extends Keeper {
  constructor(node, scroller) {
    super(scroller, node);
    scroller.addEventListener('scroll', this.watch);
  }

  keep() {
    const { node, scroller } = this;
    if (!node.isConnected) return this.release();
    if (!endsWith(node.closest(OUTPUT))) {
      this.release();
      scroller.scrollTop = scroller.scrollHeight;
      return;
    }
    const top = Math.min(this.wanted(), scroller.scrollHeight - scroller.clientHeight);
    if (Math.abs(scroller.scrollTop - top) > 1) scroller.scrollTop = top;
  }

  wanted() {
    // The whole card from its top; of one that is too long its end; of a long answer its start.
    const { node, scroller } = this;
    const zero = scroller.getBoundingClientRect().top - scroller.scrollTop;
    const card = node.getBoundingClientRect();
    const answer = (node.querySelector('.xai-answer') ?? node).getBoundingClientRect();
    const end = card.bottom - zero - scroller.clientHeight;
    return Math.max(0, Math.min(answer.top - zero, Math.max(card.top - zero, end)));
  }

  release() {
    super.release();
    this.scroller.removeEventListener('scroll', this.watch);
    if (held === this) held = null;
  }
}

function bringIntoView(node, state) {
  const scroller = scrollerOf(node);
  if (!scroller) return;
  tab?.bringForward();
  if (state === 'done') {
    held?.release();
    held = new Hold(node, scroller);
  } else if (!held) {
    scroller.scrollTop = scroller.scrollHeight; // as the panel does, but when it is drawn
  }
}

const inFold = fold => [...fold.querySelectorAll('summary, pre')];

// How a person left the folds of a card, which is drawn anew as a whole.
function leftFolds(node) {
  const folds = [...node.querySelectorAll('details')];
  return new Map(folds.map(fold => [fold.className, {
    open: fold.open,
    tops: inFold(fold).map(x => x.scrollTop),
    focused: inFold(fold).indexOf(document.activeElement),
  }]));
}

function leaveFolds(node, left) {
  for (const fold of node.querySelectorAll('details')) {
    const was = left?.get(fold.className);
    if (!was) continue;
    fold.open = was.open;
    inFold(fold).forEach((x, at) => { x.scrollTop = was.tops[at]; });
    if (document.activeElement !== document.body) continue; // it is needed elsewhere by now
    inFold(fold)[was.focused]?.focus({ preventScroll: true });
  }
}

// The lab's sanitizer takes none of this from HTML.
function nameParts(node) {
  const card = node.querySelector('.xai-card');
  card?.setAttribute('role', 'region');
  card?.setAttribute('aria-label', `Run of ${card.querySelector('b')?.textContent}`);
  for (const wide of node.querySelectorAll('.xai-card table')) {
    const part = wide.closest('[dir]'); // it scrolls
    part.tabIndex = 0;
    part.setAttribute('role', 'group');
    part.setAttribute('aria-label', 'Text with a table');
  }
  for (const text of node.querySelectorAll('details pre')) {
    const fold = text.closest('details');
    const title = (fold.querySelector('code') ?? fold.querySelector('summary')).textContent;
    const part = text.previousElementSibling;
    const isPart = !part.matches('summary'); // of a call: its arguments, or its result
    text.tabIndex = 0; // to scroll it with the keyboard
    text.setAttribute('role', 'group');
    text.setAttribute('aria-label', isPart ? `${part.textContent} of ${title}` : title);
  }
}

function rendererOf(RenderedHTML) {
  const left = new Map(); // by card: it is drawn anew below when it is finished

  return class RunCard extends RenderedHTML {
    constructor(options) {
      super({ ...options, mimeType: 'text/html' });
    }

    async renderModel(model) {
      const { id, state } = model.data[KIND] ?? {};
      if (this.node.firstChild) left.set(id, leftFolds(this.node));
      await super.renderModel(model);
      nameParts(this.node);
      leaveFolds(this.node, left.get(id));
      if (state === 'done') left.delete(id);
      this.state = state;
      if (this.isAttached) this.appear();
    }

    onAfterAttach(message) {
      super.onAfterAttach(message);
      this.appear();
    }

    appear() {
      const output = this.node.closest(OUTPUT);
      if (this.state === 'gone' && output) output.style.display = 'none';
      else if (this.state && this.node.firstChild) bringIntoView(this.node, this.state);
    }
  };
}

/** The renderer of cards. @param {any} lab */
export default function runCard(lab) {
  const Card = rendererOf(lab.rendermime.RenderedHTML);
  const rendererFactory = {
    safe: true, // it is sanitised like all HTML
    mimeTypes: [KIND],
    createRenderer: options => new Card(options),
  };
  return { id: `${NAME}:run-card`, rendererFactory, rank: 0, dataType: 'json' };
}

export const panelTab = {
  id: `${NAME}:panel-tab`,
  description: "Brings Xircuits' output panel forward when an agent's card is shown in it.",
  autoStart: true,
  activate: app => { tab = new PanelTab(app); },
};
