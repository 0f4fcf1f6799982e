// Entry point of the JupyterLab extension, written by hand because there is no build step. The parts are
// ES modules beside this file, and get the lab's own libraries.
'use strict';
(() => {
  const NAME = 'xai-mcp-agent';
  const LIBRARIES = {
    React: 'react',
    apputils: '@jupyterlab/apputils',
    rendermime: '@jupyterlab/rendermime',
    services: '@jupyterlab/services',
    ui: '@jupyterlab/ui-components',
  };
  const base = document.currentScript.src.replace(/[^/]*$/, '');
  let shared;

  async function library(name) {
    const versions = Object.values(shared[name]);
    const version = versions.find(x => x.loaded) ?? versions[0];
    return (await version.get())();
  }

  async function libraries() {
    const entries = Object.entries(LIBRARIES);
    const modules = await Promise.all(entries.map(([, name]) => library(name)));
    return Object.fromEntries(entries.map(([key], at) => [key, modules[at]]));
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init: scope => { shared = scope; },
    get: async part => {
      const module = await import(`${base}${part.slice(2)}.js`);
      const plugin = module.default(await libraries(), base);
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
