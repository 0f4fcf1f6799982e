// @ts-check
// The panel at the right of the lab. It connects the kernels, the chat and the marks on nodes.

import { chatOf } from './chat.js';
import { Kernels } from './kernels.js';
import { Marks } from './marks.js';
import { panelTab } from './run_card.js';
import { turnOf } from './turns.js';

const ID = 'xai-mcp-agent-chat';
const EXECUTE = 'Xircuit-output-panel:execute';
const AGENTS = /"name"\s*:\s*"(AgentRun|AgentRouter)"/;
const WIDTH = '330px'; // inline, because the lab measures the widget before its style sheet is there
const AGAIN_MILLISECONDS = 1500; // by then a waiting run has begun, or the kernel has dropped it
const IMPORTS = 'from xai_mcp_agent.canvas.panel import runs; from xai_mcp_agent.canvas import agent_run';
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3 jp-icon-selectable" fill="#616161" d="M4 3h16a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2H9l-5
  4v-4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zm3 5v2h10V8zm0 4v2h7v-2z"/></svg>`;

/** The plugins of the lab, made with the lab's own libraries. */
export default function plugins(lab, base) {
  const panel = {
    id: 'xai-mcp-agent:panel',
    description: 'Chat with the agent of a workflow; Stop; marks on nodes; questions of runs.',
    autoStart: true,
    activate: app => { new Panel(app, lab, base); },
  };
  return [panel, panelTab];
}

class Panel {
  constructor(app, lab, base) {
    this.app = app;
    this.lab = lab;
    this.document = null; // the last workflow that was in front
    this.watched = new WeakSet(); // workflows whose changes are followed
    this.requests = []; // each the events of a run that has not begun, or could not
    this.current = null; // the request that the kernel is starting
    this.focus = { isWanted: false }; // whether the box takes it when it is next drawn
    this.marks = new Marks(app.shell);
    const { createMessage } = lab.services.KernelMessage;
    const take = (event, link) => this.take(event, link);
    this.kernels = new Kernels(app.serviceManager, createMessage, take);
    const sanitizer = new lab.apputils.Sanitizer();
    this.Chat = chatOf(lab.React, html => sanitizer.sanitize(html));
    document.head.append(Object.assign(document.createElement('link'), {
      rel: 'stylesheet', href: `${base}panel.css`,
    }));
    this.addWidget();
    this.addBar();
    this.addCommands();
    app.shell.currentChanged?.connect(() => this.look());
    app.restored.then(() => this.look());
    app.serviceManager.sessions.ready.then(() => this.show());
    setInterval(() => { if (this.kernels.running.length) this.show(); }, 1000);
  }

  addWidget() {
    const { React, ui } = this.lab;
    const me = this;
    this.widget = new (class extends ui.ReactWidget {
      render() {
        return React.createElement(me.Chat, { state: me.state, actions: me.actions });
      }

      onActivateRequest() {
        if (!me.isQuiet) me.open();
      }
    })();
    this.widget.id = ID;
    this.widget.addClass('xai-panel');
    this.widget.node.style.minWidth = WIDTH;
    this.widget.title.icon = new ui.LabIcon({ name: `${ID}:icon`, svgstr: ICON });
    this.widget.node.setAttribute('aria-label', 'Chat with the workflow');
    this.widget.title.caption = 'Chat with the workflow (Alt+Q)';
    this.app.shell.add(this.widget, 'right', { rank: 100 });
    this.actions = {
      ask: question => this.ask(question),
      stop: () => this.stop(),
      beginAnew: () => {
        this.requests = this.requests.filter(x => x[0].path !== this.path);
        this.kernels.beginAnew(this.path);
        this.show();
      },
      focus: this.focus,
    };
  }

  addBar() {
    const { React, ui } = this.lab;
    const h = React.createElement;
    const me = this;
    this.bar = new (class extends ui.ReactWidget {
      render() {
        const began = Math.min(...me.kernels.running.map(x => x.running.events[0].time));
        const seconds = Math.max(0, Math.floor(Date.now() / 1000 - began));
        return Number.isFinite(began) && h('div', { className: 'xai-bar' },
          h('span', null, `Running ${seconds} s`),
          h('button', { className: 'xai-button xai-stop', onClick: me.actions.stop }, '■ Stop'));
      }
    })();
    this.bar.id = `${ID}-bar`;
    this.app.shell.add(this.bar, 'top', { rank: 900 });
    this.bar.hide();
  }

  addCommands() {
    const { commands } = this.app;
    commands.addCommand('xai-mcp-agent:chat', {
      label: 'Chat with the Workflow',
      execute: () => this.app.shell.activateById(ID),
    });
    commands.addKeyBinding({ command: 'xai-mcp-agent:chat', keys: ['Alt Q'], selector: 'body' });
    commands.commandExecuted.connect((_, { id, args }) => {
      if (id === EXECUTE) this.queue(args);
    });
  }

  get path() {
    return this.document?.context.path ?? '';
  }

  /** Show the workflow in front. Other tabs, such as Xircuits' output, change nothing. */
  look() {
    const front = this.app.shell.currentWidget;
    if (front?.context?.path?.endsWith('.xircuits')) this.follow(front);
    else if (this.document?.isDisposed) this.document = null;
    this.marks.draw();
    this.show();
  }

  follow(document) {
    this.document = document;
    if (this.watched.has(document)) return;
    this.watched.add(document);
    document.context.model.contentChanged.connect(() => this.show()); // an agent may be added
    document.context.pathChanged.connect(() => this.show());
  }

  /** Everything that the chat shows. */
  get state() {
    const { path, kernels, requests, current } = this;
    const links = [...kernels.links.values()];
    const runs = links.flatMap(x => [...x.runs.values()]).filter(x => x.events[0].path === path);
    const turns = runs.map(x => turnOf(x.events)).sort((a, b) => a.time - b.time);
    for (const events of requests.filter(x => x[0].path === path)) {
      const waits = events.length === 1 && events !== current;
      turns.push({ ...turnOf(events), ...waits && { state: 'waiting' } });
    }
    return {
      path,
      name: path.replace(/^.*\//, '').replace(/\.xircuits$/, ''),
      hasAgent: AGENTS.test(this.document?.context.model.toString() ?? ''),
      turns,
      questions: links.flatMap(link => [...link.questions.values()].map(question => ({
        question, answer: form => link.answer(question.id, form),
      }))),
      isReading: kernels.isReading,
      isRunning: kernels.running.length > 0 || Boolean(current),
    };
  }

  show() {
    this.widget.update();
    this.bar.setHidden(!this.kernels.running.length);
    this.bar.update();
    this.marks.draw();
  }

  take(event, link) {
    // The requested run has events of its own now.
    if (event.by === 'panel') this.requests = this.requests.filter(x => x !== this.current);
    if (event.event === 'Ended') this.dialog?.resolve(1); // there is nothing to wait for any more
    if (['Began', 'Replay'].includes(event.event)) {
      for (const { events, nodes } of link.runs.values()) this.marks.set(events[0].path, nodes);
    }
    if (link.questions.size && event.event !== 'Nodes') this.openQuietly();
    this.soon ??= requestAnimationFrame(() => {
      this.soon = null;
      this.show();
    });
  }

  /** A person opened the panel: start the kernel, so that the first answer comes sooner. */
  open() {
    this.focus.isWanted = true;
    this.show();
    this.kernels.own().then(link => link.runBeside(IMPORTS));
  }

  /** Open the panel for a question, without moving the focus. */
  openQuietly() {
    if (this.widget.isVisible) return;
    this.isQuiet = true;
    const at = document.activeElement;
    this.app.shell.activateById(ID);
    requestAnimationFrame(() => {
      this.isQuiet = false;
      if (document.activeElement !== at && at instanceof HTMLElement) at.focus();
    });
  }

  /** Ask a question, or run the workflow as it is drawn; return whether a run was requested. */
  async ask(question) {
    const { document: workflow, path } = this;
    const own = this.kernels.running.find(x => x.path === ID);
    if (own && !await this.mayRun(own)) return false;
    await save(workflow);
    const time = Date.now() / 1000;
    this.requests.push([{ run: `${Math.random()}`, event: 'Began', path, question, by: 'panel', time }]);
    this.next();
    return true;
  }

  /** Start the first requested run, unless another one is starting. */
  async next() {
    this.show();
    const events = this.requests.find(x => x.length === 1);
    if (this.current || !events) return;
    this.current = events;
    const error = await this.kernels.ask(events[0].path, events[0].question).catch(String);
    this.current = null;
    // It could not begin. The chat keeps the error.
    if (this.requests.includes(events)) events.push({ event: 'Ended', state: 'failed', error });
    this.next();
  }

  stop() {
    this.requests = this.requests.filter(x => x === this.current || x.length > 1);
    this.show();
    for (const link of this.kernels.running) link.kernel.interrupt();
  }

  /** Ask whether to stop the current run or wait for its end; return whether the next one may begin. */
  async mayRun(link) {
    const { Dialog } = this.lab.apputils;
    const { running } = link;
    const seconds = Math.floor(Date.now() / 1000 - running.events[0].time);
    this.dialog?.reject();
    this.dialog = new Dialog({
      title: 'A run is still going on',
      body: `It has run for ${seconds} s. The new one waits for it.`,
      buttons: [Dialog.warnButton({ label: 'Stop it' }), Dialog.okButton({ label: 'Wait' })],
      defaultButton: 1,
    });
    const result = await this.dialog.launch();
    this.dialog = null;
    if (result.button.label === 'Stop it' && link.running === running) await link.kernel.interrupt();
    return result.button.accept;
  }

  /** Handle a press of Xircuits' Run, whose kernel does one run after the other. */
  async queue(args) {
    const link = this.kernels.xircuits;
    const before = link?.running;
    if (!before || !await this.mayRun(link)) return;
    const runCount = link.runs.size;
    if (link.running === before) return; // it waits
    setTimeout(() => {
      // An interrupt may make the kernel drop waiting runs.
      if (link.runs.size === runCount && link.kernel.status === 'idle') this.app.commands.execute(EXECUTE, args);
    }, AGAIN_MILLISECONDS);
  }
}

/** Save a workflow as it is drawn. */
async function save({ content, context }) {
  const engine = content.xircuitsApp.getDiagramEngine();
  const { models } = context.model.toJSON().layers.find(x => x.type === 'diagram-links');
  const isWritten = line => models[line.getID()]?.type === line.getType();
  // Xircuits writes a line to a new node incompletely until the next change.
  if (!engine.getModel().getLinks().every(isWritten)) engine.fireEvent({}, 'onChange');
  if (context.model.dirty) await context.save();
}
