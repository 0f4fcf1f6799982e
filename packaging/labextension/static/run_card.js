// @ts-check
// Shows the card of an agent's run like any HTML, sanitised by the lab. In Xircuits' output panel it
// keeps the answer in view, or without a card the end of the output: the panel itself scrolls before
// they are drawn, and may be behind another tab.

const NAME = 'xai-mcp-agent';
const KIND = 'application/vnd.xai-mcp-agent.card+json'; // {id, state}; the card is its text/html
const PANEL = 'xircuit-output-panel';
const EXECUTE = 'Xircuit-output-panel:execute';
const AREA = '.jp-OutputArea';
const OUTPUT = '.jp-OutputArea-child';
const LINES = 'application/vnd.jupyter.stdout';
const BY_HAND = ['wheel', 'pointerdown', 'keydown', 'touchstart'];
const TYPED_IN = 'input, textarea, select, iframe';

let cardKeeper = null; // keeps a finished card in view
let endKeeper = null; // keeps the end of the output in view, while there is no card
let tab = null; // of the panel; set when the lab has started

// Brings the output panel to the front once in a run, without moving the focus. A person who saw it in
// this run and left it does not want it back.
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
    for (const last of [cardKeeper, endKeeper]) last?.release();
    const scroller = this.panel?.node.querySelector(AREA);
    endKeeper = scroller ? new EndKeeper(scroller) : null;
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
    // The tab in front would lose the focus when it is hidden.
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
  if (!panel) return null; // notebooks and other places are not scrolled
  let at = node.parentElement;
  while (at !== panel && !scrolls(at)) at = at.parentElement;
  return at;
}

function endsWith(output) {
  // Printed lines may follow the card. An error, a question or another card is more important.
  for (let next = output.nextElementSibling; next; next = next.nextElementSibling) {
    const kind = next.querySelector('[data-mime-type]')?.getAttribute('data-mime-type');
    if (kind && kind !== LINES && next.style.display !== 'none') return false;
  }
  return true;
}

// Keeps something in view while more is drawn, until a person scrolls or clicks.
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

// Keeps the end of the output in view.
class EndKeeper extends Keeper {
  keep() {
    if (!cardKeeper) this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

// Keeps a finished card in view.
class CardKeeper extends Keeper {
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
    const top = Math.min(this.position(), scroller.scrollHeight - scroller.clientHeight);
    if (Math.abs(scroller.scrollTop - top) > 1) scroller.scrollTop = top;
  }

  position() {
    // The top of the card if it fits, else its end, but never below the start of the answer.
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
    if (cardKeeper === this) cardKeeper = null;
  }
}

function bringIntoView(node, state) {
  const scroller = scrollerOf(node);
  if (!scroller) return;
  tab?.bringForward();
  if (state === 'done') {
    cardKeeper?.release();
    cardKeeper = new CardKeeper(node, scroller);
  } else if (!cardKeeper) {
    scroller.scrollTop = scroller.scrollHeight; // the panel does so too early
  }
}

const inFold = fold => [...fold.querySelectorAll('summary, pre')];

// The folds of a card as a person left them. A card is redrawn as a whole.
function foldStatesOf(node) {
  const folds = [...node.querySelectorAll('details')];
  return new Map(folds.map(fold => [fold.className, {
    open: fold.open,
    tops: inFold(fold).map(x => x.scrollTop),
    focused: inFold(fold).indexOf(document.activeElement),
  }]));
}

function restoreFolds(node, states) {
  for (const fold of node.querySelectorAll('details')) {
    const state = states?.get(fold.className);
    if (!state) continue;
    fold.open = state.open;
    inFold(fold).forEach((x, at) => { x.scrollTop = state.tops[at]; });
    if (document.activeElement !== document.body) continue; // a person moved it
    inFold(fold)[state.focused]?.focus({ preventScroll: true });
  }
}

// Adds roles and labels, which the lab's sanitizer removes from HTML.
function nameParts(node) {
  const card = node.querySelector('.xai-card');
  card?.setAttribute('role', 'region');
  card?.setAttribute('aria-label', `Run of ${card.querySelector('b')?.textContent}`);
  for (const wide of node.querySelectorAll('.xai-card table')) {
    const part = wide.closest('[dir]'); // it can be scrolled
    part.tabIndex = 0;
    part.setAttribute('role', 'group');
    part.setAttribute('aria-label', 'Text with a table');
  }
  for (const text of node.querySelectorAll('details pre')) {
    const fold = text.closest('details');
    const title = (fold.querySelector('code') ?? fold.querySelector('summary')).textContent;
    const part = text.previousElementSibling;
    const isPart = !part.matches('summary'); // the arguments or the result of a call
    text.tabIndex = 0; // to scroll it with the keyboard
    text.setAttribute('role', 'group');
    text.setAttribute('aria-label', isPart ? `${part.textContent} of ${title}` : title);
  }
}

function rendererOf(RenderedHTML) {
  const foldStates = new Map(); // by card: a finished card is drawn again further down

  return class RunCard extends RenderedHTML {
    constructor(options) {
      super({ ...options, mimeType: 'text/html' });
    }

    async renderModel(model) {
      const { id, state } = model.data[KIND] ?? {};
      if (this.node.firstChild) foldStates.set(id, foldStatesOf(this.node));
      await super.renderModel(model);
      nameParts(this.node);
      restoreFolds(this.node, foldStates.get(id));
      if (state === 'done') foldStates.delete(id);
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
    safe: true, // the lab sanitises it like all HTML
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
