// @ts-check
// Connections to the panel's own kernel and to that of Xircuits' Run: their events, and requests to them.

const OWN = 'xai-mcp-agent-chat'; // session path, in the lab's top folder
const XIRCUITS = 'Xircuit Output Process'; // session name of Xircuits' Run
const MESSAGE = 'xai_mcp_agent_event';
const PYTHON = 'xai_mcp_agent.canvas';
const ENDED = ['dead', 'restarting', 'autorestarting'];
const KERNEL_ENDED = { event: 'Ended', state: 'failed', error: 'The kernel ended.' };

/**
 * Python code that calls a function of the panel's Python side, without the closing bracket. Values
 * are strings or objects of strings.
 */
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

/** Connection to a kernel whose runs the panel shows. `runs` has the events of each, oldest run first. */
class Link {
  constructor(session, page, changed, createMessage) {
    Object.assign(this, { session, page, changed, createMessage, kernel: session.kernel });
    /** @type {Map<string, {events: any[], nodes: Record<string, any>, isOver: boolean}>} */
    this.runs = new Map();
    this.questions = new Map();
    this.endedCells = new Set(); // since this page was loaded
    this.rereadRuns = new Set(); // runs whose events were requested a second time
    this.path = session.path; // a session that has ended has none
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
        this.isRestarted = false; // the new process does not know this page
        this.begin();
      }
    });
    this.begin();
  }

  endCell(id) {
    this.endedCells.add(id);
    this.endRun(id);
  }

  /** End the run of an ended cell. A busy connection may drop its last events: request them again. */
  endRun(id) {
    const run = this.runs.get(id);
    if (!run || run.isOver || !this.endedCells.has(id)) return;
    run.isOver = true;
    if (this.rereadRuns.has(id)) return;
    this.rereadRuns.add(id);
    this.begin();
  }

  begin() {
    this.isRead = false; // whether earlier events have arrived
    const ready = this.attend().catch(error => {
      if (this.ready !== ready) return; // a later `begin` replaced it
      this.isRead = true;
      console.warn('xai-mcp-agent', error);
      this.changed({ event: 'NotAttended' }, this);
    });
    this.ready = ready;
  }

  /** Request earlier events. From now on the kernel sends its questions here, if it can take answers. */
  async attend() {
    this.disposeSide();
    this.side = this.kernel.clone();
    this.side.subshellId = await this.createSubshell();
    const flag = this.side.subshellId ? 'True' : 'False';
    await this.run(`${call('panel.questions', 'attend', this.page)}, answers=${flag})`);
  }

  /** Create a subshell; return its id, or null if the kernel has no subshells. */
  async createSubshell() {
    const { side } = this;
    await Promise.all([connected(this.kernel), connected(side)]); // events arrive at the first one
    // `requestCreateSubshell` waits for the kernel's info, which a busy kernel does not send.
    const created = side.sendControlMessage(this.createMessage({
      msgType: 'create_subshell_request', channel: 'control', content: {},
      username: side.username, session: side.clientId,
    }), true, true).done;
    const supported = side.info.then(() => (side.supportsSubshells ? created : null));
    const reply = await Promise.race([created, supported]);
    return reply?.content.subshell_id ?? null;
  }

  /** Run code in the kernel beside the current run. */
  async runBeside(code) {
    await this.ready;
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
    if (!run) return; // it began before this page was loaded, and will come with the replay
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
      if (!id || hasEnd(this.runs.get(id)?.events)) continue; // it ended meanwhile
      this.runs.set(id, { events, nodes, isOver: isOver || hasEnd(events) });
      this.endRun(id);
    }
    for (const question of questions) this.questions.set(question.id, question);
  }

  end() {
    for (const [id, run] of this.runs) if (!run.isOver) this.takeOfRun({ ...KERNEL_ENDED, run: id });
    this.questions.clear();
    this.changed(KERNEL_ENDED, this);
  }

  leave() {
    this.isGone = true;
    this.end();
    this.disposeSide();
    this.session.dispose();
  }

  disposeSide() {
    if (!this.side) return;
    this.side.subshellId = null; // else `dispose` requests its deletion, which needs the kernel's info
    this.side.dispose();
  }

  answer(id, form) {
    return this.runBeside(`${call('panel.questions', 'answer', id, form)})`);
  }

  /** The current run, if there is one. */
  get running() {
    return [...this.runs.values()].find(x => !x.isOver);
  }
}

/** Connections to all kernels. The panel's own kernel starts when it is first needed. */
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

  /** Connect to new kernels, and disconnect from ended ones. */
  look() {
    const models = [...this.services.sessions.running()];
    for (const [id, link] of this.links) {
      if (!link.isGone && !models.some(x => x.id === id)) link.leave(); // the chat keeps its runs
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

  /** Return the connection to the panel's own kernel; start it if there is none. @returns {Promise<Link>} */
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
    await link.ready;
    return link;
  }

  /** The connection to the kernel of Xircuits' Run, if there is one. */
  get xircuits() {
    return [...this.links.values()].find(x => x.path !== OWN && !x.isGone);
  }

  /** Whether events from before this page was loaded are still missing. */
  get isReading() {
    return !this.isReady || [...this.links.values()].some(x => !x.isRead && !x.isGone);
  }

  get running() {
    return [...this.links.values()].filter(x => x.running);
  }

  /** Run a workflow; return the error that prevented its start, or an empty string. */
  async ask(path, question) {
    const { kernel } = await this.own();
    const code = `${call('panel.runs', 'ask', path, question)})`;
    const reply = await kernel.requestExecute({ code, store_history: false, stop_on_error: false }).done;
    return reply.content.status === 'error' ? `${reply.content.ename}: ${reply.content.evalue}` : '';
  }

  /** Forget a conversation. A kernel takes requests in order, so it happens before the next question. */
  beginAnew(path) {
    const code = `${call('panel.runs', 'begin_anew', path)})`;
    for (const link of this.links.values()) {
      link.forget(path);
      if (!link.isGone) link.kernel.requestExecute({ code, silent: true, store_history: false });
    }
  }
}
