// @ts-check
// The panel's own kernel, and that of Xircuits' Run: what happens in them, and what they are told.

const OWN = 'xai-mcp-agent-chat'; // the path of its session, in the lab's top folder
const XIRCUITS = 'Xircuit Output Process'; // the name of the session of Xircuits' Run
const MESSAGE = 'xai_mcp_agent_event';
const PYTHON = 'xai_mcp_agent.canvas';
const ENDED = ['dead', 'restarting', 'autorestarting'];
const GONE = { event: 'Ended', state: 'failed', error: 'The kernel ended.' };

/** A call of a function of the panel's Python side; the values are texts, or objects of them. */
const call = (module, name, ...values) =>
  `from ${PYTHON}.${module} import ${name}; ${name}(${values.map(x => JSON.stringify(x)).join(', ')}`;

const connected = kernel => new Promise(resolve => {
  const look = () => {
    if (kernel.connectionStatus !== 'connected') return;
    kernel.connectionStatusChanged.disconnect(look);
    resolve(null);
  };
  kernel.connectionStatusChanged.connect(look);
  look();
});

const hasEnd = events => events?.some(x => x.event === 'Ended') ?? false;

/** One kernel that the panel shows. `runs` has their events, in the order in which they began. */
class Link {
  constructor(session, page, changed, createMessage) {
    Object.assign(this, { session, page, changed, createMessage, kernel: session.kernel });
    /** @type {Map<string, {events: any[], nodes: Record<string, any>, isOver: boolean}>} */
    this.runs = new Map();
    this.questions = new Map();
    this.ended = new Set(); // the cells that have ended since this page came
    this.missed = new Set(); // the runs whose last events were asked for once more
    this.path = session.path; // also when the session has gone
    this.kernel.iopubMessage.connect((_, message) => {
      const { header, parent_header: parent, content } = message;
      if (header.msg_type === MESSAGE) this.take(content);
      else if (content.execution_state === 'idle') this.endCell(parent.msg_id);
    });
    this.kernel.statusChanged.connect((_, status) => {
      if (ENDED.includes(status)) {
        this.isRestarted = true;
        this.end();
      } else if (this.isRestarted) {
        this.isRestarted = false; // it was restarted, and knows nothing of this page
        this.begin();
      }
    });
    this.begin();
  }

  endCell(id) {
    this.ended.add(id);
    this.endRun(id);
  }

  /** A run is over with its cell; its last events may have been lost on a busy line: ask once more. */
  endRun(id) {
    const run = this.runs.get(id);
    if (!run || run.isOver || !this.ended.has(id)) return;
    run.isOver = true;
    if (this.missed.has(id)) return;
    this.missed.add(id);
    this.begin();
  }

  begin() {
    this.isRead = false; // what happened in it before this page
    const attended = this.attend().catch(error => {
      if (this.attended !== attended) return; // it was begun anew meanwhile
      this.isRead = true;
      console.warn('xai-mcp-agent', error);
      this.changed({ event: 'NotAttended' }, this);
    });
    this.attended = attended;
  }

  /** Ask for what was missed; from then on questions come here, if the kernel takes answers. */
  async attend() {
    this.disposeSide();
    this.side = this.kernel.clone();
    this.side.subshellId = await this.createSubshell();
    const flag = this.side.subshellId ? 'True' : 'False';
    await this.run(`${call('panel.questions', 'attend', this.page)}, answers=${flag})`);
  }

  /** The id of a new subshell; null where the kernel has none. */
  async createSubshell() {
    const { side } = this;
    await Promise.all([connected(this.kernel), connected(side)]); // the first hears the events
    // `requestCreateSubshell` waits for what the kernel says of itself, and a busy one does not.
    const created = side.sendControlMessage(this.createMessage({
      msgType: 'create_subshell_request', channel: 'control', content: {},
      username: side.username, session: side.clientId,
    }), true, true).done;
    const known = side.info.then(() => (side.supportsSubshells ? created : null));
    const reply = await Promise.race([created, known]);
    return reply?.content.subshell_id ?? null;
  }

  /** Have the kernel do this beside what it is at. */
  async tell(code) {
    await this.attended;
    return this.run(code);
  }

  run(code) {
    return this.side.requestExecute({ code, silent: true, store_history: false }).done;
  }

  take(event) {
    if (event.event === 'Replay') {
      if (event.page === this.page) this.replay(event);
    } else if (event.event === 'Question') {
      this.questions.set(event.id, event);
    } else if (event.event === 'QuestionClosed') {
      this.questions.delete(event.id);
    } else if (event.event === 'Forgot') {
      this.forget(event.path);
    } else {
      this.takeOfRun(event);
    }
    this.changed(event, this);
  }

  takeOfRun(event) {
    if (event.event === 'Began') {
      this.runs.set(event.run, { events: [event], nodes: {}, isOver: false });
      return;
    }
    const run = this.runs.get(event.run);
    if (!run) return; // it began before this page; its replay is on the way
    const last = run.events.at(-1);
    if (event.event === 'Nodes') {
      for (const node of event.nodes) run.nodes[node.node] = node;
    } else if (last.event === event.event && ['Text', 'ToolProgressed'].includes(event.event)) {
      run.events[run.events.length - 1] = event;
    } else run.events.push(event);
    run.isOver ||= event.event === 'Ended';
  }

  forget(path) {
    for (const [id, run] of this.runs) {
      if (run.isOver && run.events[0].path === path) this.runs.delete(id);
    }
  }

  replay({ runs, questions }) {
    this.isRead = true;
    for (const { events, nodes, is_over: isOver } of runs) {
      const id = events[0]?.run;
      if (!id || hasEnd(this.runs.get(id)?.events)) continue; // it ended while this was on the way
      this.runs.set(id, { events, nodes, isOver: isOver || hasEnd(events) });
      this.endRun(id);
    }
    for (const question of questions) this.questions.set(question.id, question);
  }

  end() {
    for (const [id, run] of this.runs) if (!run.isOver) this.takeOfRun({ ...GONE, run: id });
    this.questions.clear();
    this.changed(GONE, this);
  }

  leave() {
    this.isGone = true;
    this.end();
    this.disposeSide();
    this.session.dispose();
  }

  disposeSide() {
    if (!this.side) return;
    this.side.subshellId = null; // else it asks for its end, for which it must know the kernel
    this.side.dispose();
  }

  answer(id, sent) {
    return this.tell(`${call('panel.questions', 'answer', id, sent)})`);
  }

  /** The run that goes on, if one does. */
  get running() {
    return [...this.runs.values()].find(x => !x.isOver);
  }
}

/** Finds the kernels, and starts the panel's own when it is needed first. */
export class Kernels {
  /**
   * @param {any} services @param {(options: any) => any} createMessage
   * @param {(event: any, link: Link) => void} changed
   */
  constructor(services, createMessage, changed) {
    Object.assign(this, { services, createMessage, changed });
    this.page = crypto.randomUUID?.() ?? String(Math.random()); // plain http has no randomUUID
    /** @type {Map<string, Link>} */
    this.links = new Map();
    /** @type {Promise<Link> | null} */
    this.starting = null;
    services.sessions.runningChanged.connect(() => this.look());
    services.sessions.ready.then(() => {
      this.isReady = true;
      this.look();
    });
  }

  /** Connect to what runs now, and forget what has ended. */
  look() {
    const models = [...this.services.sessions.running()];
    for (const [id, link] of this.links) {
      if (!link.isGone && !models.some(x => x.id === id)) link.leave(); // its runs stay in the chat
    }
    for (const model of models) {
      const isOurs = model.path === OWN || model.name === XIRCUITS;
      if (isOurs && !this.links.has(model.id)) this.connect(model);
    }
  }

  connect(model) {
    const session = this.services.sessions.connectTo({ model });
    const link = new Link(session, this.page, this.changed, this.createMessage);
    this.links.set(model.id, link);
    return link;
  }

  /** The panel's own kernel; it starts if there is none. @returns {Promise<Link>} */
  own() {
    this.starting ??= this.start().finally(() => { this.starting = null; });
    return this.starting;
  }

  async start() {
    const { sessions, kernelspecs } = this.services;
    await Promise.all([sessions.ready, kernelspecs.ready]);
    let link = [...this.links.values()].find(x => x.path === OWN && !x.isGone);
    if (!link) {
      const kernel = { name: kernelspecs.specs.default };
      const { model } = await sessions.startNew({ name: 'Chat', path: OWN, type: OWN, kernel });
      link = this.links.get(model.id) ?? this.connect(model);
    }
    await link.attended;
    return link;
  }

  /** The link to Xircuits' Run, if it ran. */
  get xircuits() {
    return [...this.links.values()].find(x => x.path !== OWN && !x.isGone);
  }

  /** Whether some of what happened before this page is still unknown to it. */
  get isReading() {
    return !this.isReady || [...this.links.values()].some(x => !x.isRead && !x.isGone);
  }

  get running() {
    return [...this.links.values()].filter(x => x.running);
  }

  /** Run a workflow; the error that came before it began, or nothing. */
  async ask(path, question) {
    const { kernel } = await this.own();
    const code = `${call('panel.runs', 'ask', path, question)})`;
    const reply = await kernel.requestExecute({ code, store_history: false, stop_on_error: false }).done;
    return reply.content.status === 'error' ? `${reply.content.ename}: ${reply.content.evalue}` : '';
  }

  /** Forget a conversation, before the next question: a kernel takes its requests in order. */
  beginAnew(path) {
    const code = `${call('panel.runs', 'begin_anew', path)})`;
    for (const link of this.links.values()) {
      link.forget(path);
      if (!link.isGone) link.kernel.requestExecute({ code, silent: true, store_history: false });
    }
  }
}
