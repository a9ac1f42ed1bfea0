// The views of tools, resources, prompts, tasks, the log and the server.

import { h, button, replace, remove, later, milliseconds } from './dom.js'
import { schemaForm } from './form.js'
import { viewer, parse } from './json.js'
import { result } from './result.js'
import { appView, viewURI } from './mcpapp.js'
import * as api from './api.js'

// outputs shows the last action that belongs to a view, on each connection. The function belongs
// reports whether an action does. The function more, if any, returns more for an action with a result:
// an element, and a function that ends it.
function outputs(app, belongs, more) {
	const element = h('div', { class: 'outputs', 'aria-live': 'polite' })
	const drawn = new Map() // by side: the action, to draw only what has changed
	const newest = Math.max(0, ...app.state.actions.keys())
	const draw = later(() => {
		const last = [null, null]
		for (const action of app.state.actions.values()) {
			if (!action.view && belongs(action)) last[action.side] = action
		}
		if (!app.state.compare) last[1] = null
		for (const side of [0, 1]) {
			const before = drawn.get(side)
			if (before?.action === last[side]) {
				if (last[side]?.state === 'running') before.progress()
				continue
			}
			if (before) remove([before.element], before.close?.())
			drawn.delete(side)
			if (!last[side]) continue
			const card = outputCard(app, last[side], more)
			drawn.set(side, { action: last[side], ...card })
			element.append(card.element)
			if (last[side].id > newest) card.element.scrollIntoView({ block: 'nearest' })
		}
		if (drawn.get(0) && drawn.get(1)) element.append(drawn.get(1).element)
		element.classList.toggle('two', drawn.size > 1)
	})
	const stop = app.listen((name) => {
		if (['action', 'progress', 'compare', 'state'].includes(name)) draw()
	})
	draw()
	return {
		element, draw,
		stop() {
			stop()
			const ending = [...drawn.values()].map((card) => card.close?.()).filter(Boolean)
			return ending.length ? Promise.all(ending) : undefined
		},
	}
}

function outputCard(app, action, more) {
	const side = app.state.sides[action.side]
	const body = h('div', null)
	const time = h('span', { class: 'muted' })
	const head = h('div', { class: 'bar' }, h('h3', null, { running: 'Running', done: 'Result', failed: 'Error', cancelled: 'Cancelled' }[action.state]),
		app.state.compare && side?.revision ? h('span', { class: 'chip plain' }, side.revision) : null, time)
	let progress = () => {}
	let close
	if (action.state === 'running') {
		const bar = h('progress', { 'aria-label': 'Progress' })
		const note = h('p', { class: 'hint' })
		time.dataset.since = String(Date.parse(action.begun))
		head.append(button('Cancel', () => api.post('cancel', { id: action.id }).catch(app.fail), { class: 'danger' }))
		replace(body, bar, note)
		progress = () => {
			const p = app.state.progress.get(action.id)
			if (!p) return
			if (p.total > 0) {
				bar.max = p.total
				bar.value = Math.min(p.progress, p.total)
			}
			note.textContent = [p.total ? `${p.progress} of ${p.total}` : String(p.progress), p.message].filter(Boolean).join(' · ')
		}
		progress()
	} else {
		time.textContent = milliseconds(Date.parse(action.ended) - Date.parse(action.begun))
		if (action.result) {
			const extra = more?.(action)
			close = extra?.close
			replace(body, extra?.element, result(action, app.open))
		} else replace(body, errorView(action.error))
	}
	return { element: h('section', { class: `card ${action.state}` }, head, body), progress, close }
}

function errorView(error) {
	return h('div', { class: 'parts' }, h('pre', { class: 'text problem', tabindex: '0' }, error?.message ?? ''),
		error?.code ? h('p', { class: 'hint' }, `code ${error.code}`) : null,
		error?.data !== undefined ? viewer(JSON.stringify(error.data)) : null)
}

// title shows the name of an entry, and its description.
function title(name, item, badges = []) {
	return h('div', { class: 'head' }, h('h2', null, item.title ?? name), item.title && item.title !== name ? h('code', { class: 'muted' }, name) : null,
		badges.length ? h('div', { class: 'badges' }, badges) : null,
		item.description ? h('p', { class: 'description' }, item.description) : null)
}

function badge(text, kind = '') {
	return h('span', { class: `tag ${kind}` }, text)
}

// submit calls f with the button, or with Ctrl+Enter in an element.
function submit(element, label, f) {
	const run = button(label, f, { class: 'primary', title: 'Ctrl+Enter' })
	element.addEventListener('keydown', (event) => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
			event.preventDefault()
			f()
		}
	})
	return run
}

const remembered = new Map() // the last arguments of each entry

function remember(key, form) {
	const before = remembered.get(key)
	if (before) form.set(before)
	return (text) => remembered.set(key, text)
}

export function toolView(app, tool) {
	const a = tool.annotations ?? {}
	const support = tool.execution?.taskSupport
	const badges = [
		a.readOnlyHint ? badge('read-only', 'good') : null, a.destructiveHint && !a.readOnlyHint ? badge('destructive', 'bad') : null,
		a.idempotentHint ? badge('idempotent') : null, a.openWorldHint ? badge('open world') : null,
		support && support !== 'forbidden' ? badge(`task ${support}`) : null, viewURI(tool) ? badge('view') : null,
	].filter(Boolean)
	const form = schemaForm(tool.inputSchema)
	const keep = remember(`tool ${tool.name}`, form)
	const asTask = h('input', { type: 'checkbox' })
	const element = h('div', { class: 'view' })
	const call = () => {
		const text = form.text()
		if (text === null) return
		keep(text)
		const task = asTask.checked ? ',"task":{}' : ''
		app.request('tools/call', `{"name":${JSON.stringify(tool.name)},"arguments":${text}${task}}`).catch(app.fail)
	}
	const out = outputs(app, (action) => action.method === 'tools/call' && action.params.name === tool.name,
		(action) => (viewURI(tool) ? appView(app, tool, action) : null))
	replace(element, title(tool.name, tool, badges), form.element,
		h('div', { class: 'buttons' }, submit(element, 'Call', call), h('span', { class: 'hint' }, 'Ctrl+Enter'), support === 'optional' ? h('label', { class: 'check' }, asTask, 'as a task (2025-11-25)') : null),
		out.element, schemaDetails('Input schema', tool.inputSchema), tool.outputSchema ? schemaDetails('Output schema', tool.outputSchema) : null, metaDetails(tool))
	return { element, close: out.stop }
}

function schemaDetails(label, schema) {
	return details(label, () => viewer(JSON.stringify(schema)))
}

function metaDetails(item) {
	return item._meta ? details('Metadata', () => viewer(JSON.stringify(item._meta))) : null
}

// details makes a part that is filled when it is opened.
function details(label, fill) {
	const element = h('details', null, h('summary', null, label))
	element.addEventListener('toggle', () => {
		if (element.open && element.children.length === 1) element.append(fill())
	})
	return element
}

export function resourceView(app, item) {
	const { uri } = item
	const out = outputs(app, (action) => action.method === 'resources/read' && action.params.uri === uri)
	const watch = watchControl(app, uri)
	const element = h('div', { class: 'view' })
	replace(element, title(item.name, item, [item.mimeType ? badge(item.mimeType) : null, item.size ? badge(`${item.size} bytes`) : null].filter(Boolean)), h('p', null, h('code', null, uri)),
		h('div', { class: 'buttons' }, button('Read', () => app.request('resources/read', JSON.stringify({ uri })).catch(app.fail), { class: 'primary' }), watch.element),
		out.element, metaDetails(item))
	return {
		element,
		close() {
			out.stop()
			watch.stop()
		},
	}
}

// watchControl subscribes to a resource.
function watchControl(app, uri) {
	const element = h('span', { class: 'watch' })
	const draw = () => {
		const side = app.firstConnected()
		const w = app.state.watches.get(`${side} ${uri}`)
		const focused = element.contains(document.activeElement)
		const toggle = button(w?.on ? 'Unsubscribe' : 'Subscribe', () => api.post('watch', { side, uri, on: !w?.on }).catch(app.fail))
		replace(element, toggle, w ? h('span', { class: w.error ? 'problem' : 'muted', role: 'status' }, w.error || `${w.changes} ${w.changes === 1 ? 'change' : 'changes'}${w.last ? `, the last at ${new Date(w.last).toLocaleTimeString()}` : ''}`) : null)
		if (focused) toggle.focus()
	}
	const stop = app.listen((name, event) => {
		if (name === 'watch' && event.uri === uri) draw()
	})
	draw()
	return { element, stop }
}

// variables returns the names of the variables of a URI template.
function variables(template) {
	const names = []
	for (const [, inner] of template.matchAll(/\{[+#./;?&]?([^}]*)\}/g)) {
		for (const name of inner.split(',')) names.push(name.replace(/(\*|:\d+)$/, ''))
	}
	return [...new Set(names)]
}

// expand replaces the variables of a URI template, as RFC 6570 defines it for texts.
function expand(template, values) {
	return template.replace(/\{([+#./;?&]?)([^}]*)\}/g, (_, operator, inner) => {
		const reserved = operator === '+' || operator === '#'
		const named = ';?&'.includes(operator) && operator !== ''
		const parts = []
		for (const spec of inner.split(',')) {
			const [, name, , length] = /^(.*?)(\*|:(\d+))?$/.exec(spec)
			if (!values[name]) continue
			const text = length ? [...values[name]].slice(0, Number(length)).join('') : values[name]
			const encoded = reserved ? encodeURI(text) : encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
			parts.push(named ? `${name}=${encoded}` : encoded)
		}
		if (!parts.length) return ''
		const separator = { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' }[operator]
		return (operator === '+' ? '' : operator) + parts.join(separator)
	})
}

export function templateView(app, item) {
	const names = variables(item.uriTemplate)
	const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }
	const ref = { type: 'ref/resource', uri: item.uriTemplate }
	const form = schemaForm(schema, { complete: completer(app, ref) })
	const keep = remember(`template ${item.uriTemplate}`, form)
	let uri = null
	const shown = h('p', null)
	const watchPlace = h('span', null)
	let watch = null
	const element = h('div', { class: 'view' })
	const out = outputs(app, (action) => action.method === 'resources/read' && action.params.uri === uri)
	const read = () => {
		const text = form.text()
		if (text === null) return
		keep(text)
		uri = expand(item.uriTemplate, JSON.parse(text))
		replace(shown, h('code', null, uri))
		watch?.stop()
		watch = watchControl(app, uri)
		replace(watchPlace, watch.element)
		app.request('resources/read', JSON.stringify({ uri })).catch(app.fail)
	}
	replace(element, title(item.name, item, item.mimeType ? [badge(item.mimeType)] : []), h('p', null, h('code', null, item.uriTemplate)), form.element,
		h('div', { class: 'buttons' }, submit(element, 'Read', read), watchPlace), shown, out.element, metaDetails(item))
	return {
		element,
		close() {
			out.stop()
			watch?.stop()
		},
	}
}

// completer returns a function that asks the server for proposals, or undefined if the server has none.
function completer(app, ref) {
	if (!app.state.sides[app.firstConnected()]?.capabilities?.completions) return undefined
	return async (name, value) => {
		const res = await app.result('completion/complete', JSON.stringify({ ref, argument: { name, value } }))
		return res.completion?.values ?? []
	}
}

export function promptView(app, prompt) {
	const list = prompt.arguments ?? []
	const schema = {
		type: 'object', required: list.filter((a) => a.required).map((a) => a.name),
		properties: Object.fromEntries(list.map((a) => [a.name, { type: 'string', title: a.title, description: a.description }])),
	}
	const form = schemaForm(schema, { complete: completer(app, { type: 'ref/prompt', name: prompt.name }) })
	const keep = remember(`prompt ${prompt.name}`, form)
	const element = h('div', { class: 'view' })
	const out = outputs(app, (action) => action.method === 'prompts/get' && action.params.name === prompt.name)
	const run = () => {
		const text = form.text()
		if (text === null) return
		keep(text)
		app.request('prompts/get', `{"name":${JSON.stringify(prompt.name)},"arguments":${text}}`).catch(app.fail)
	}
	replace(element, title(prompt.name, prompt), form.element, h('div', { class: 'buttons' }, submit(element, 'Get the prompt', run)), out.element, metaDetails(prompt))
	return { element, close: out.stop }
}

export function tasksView(app) {
	const body = h('div', { class: 'table' })
	const out = outputs(app, (action) => action.method.startsWith('tasks/'))
	const draw = later(() => {
		const all = [...app.state.tasks.values()].reverse()
		replace(body, all.length ? all.map((t) => taskCard(app, t)) : h('p', { class: 'hint' }, 'No request has become a task. A tool with support for tasks may respond with one.'))
	})
	const stop = app.listen((name) => {
		if (name === 'task') draw()
	})
	draw()
	const listed = button('List the tasks', () => app.request('tasks/list').catch(app.fail), { title: 'Only 2025-11-25 has this request' })
	return {
		element: h('div', { class: 'view' }, h('div', { class: 'head' }, h('h2', null, 'Tasks')), body, h('div', { class: 'buttons' }, listed), out.element),
		close() {
			stop()
			out.stop()
		},
	}
}

function taskCard(app, t) {
	const action = app.state.actions.get(t.action)
	const params = JSON.stringify({ taskId: t.id })
	return h('section', { class: 'card' },
		h('div', { class: 'bar' }, h('h3', null, action?.params?.name ?? t.id), badge(t.status, { completed: 'good', failed: 'bad', cancelled: 'bad' }[t.status] ?? ''),
			button('Poll', () => app.request('tasks/get', params, [t.side]).catch(app.fail)),
			t.finished ? null : button('Cancel', () => app.request('tasks/cancel', params, [t.side]).catch(app.fail), { class: 'danger' })),
		h('p', { class: 'hint' }, h('code', null, t.id), t.message ? ` · ${t.message}` : ''))
}

export function logView(app) {
	const list = h('div', { class: 'log', tabindex: '0', role: 'log', 'aria-label': 'Log' })
	let drawn = 0
	const line = (l) => h('div', { class: `line level-${l.level}` }, h('span', { class: 'muted' }, new Date(l.time).toLocaleTimeString(undefined, { hour12: false })), h('span', { class: 'level' }, l.level), h('span', { class: 'text' }, [l.logger, l.text ?? (typeof l.data === 'string' ? l.data : JSON.stringify(l.data))].filter(Boolean).join(': ')))
	const draw = later(() => {
		const pinned = list.scrollHeight - list.scrollTop - list.clientHeight < 40
		if (app.state.logs.length < drawn || list.childElementCount > 3000) {
			list.replaceChildren()
			drawn = 0
		}
		if (!app.state.logs.length) replace(list, h('p', { class: 'hint' }, 'Log messages of the server and its standard error appear here.'))
		else if (!drawn) list.replaceChildren()
		for (const l of app.state.logs.slice(drawn)) list.append(line(l))
		drawn = app.state.logs.length
		if (pinned) list.scrollTop = list.scrollHeight
	})
	const stop = app.listen((name) => {
		if (name === 'log') draw()
	})
	draw()
	const levels = ['debug', 'info', 'notice', 'warning', 'error']
	const level = h('select', { id: 'log-level' }, levels.map((l) => h('option', null, l)))
	const set = button('Set the level', () => app.request('logging/setLevel', JSON.stringify({ level: level.value })).catch(app.fail), { title: 'Only handshake revisions have this request' })
	return { element: h('div', { class: 'view' }, h('div', { class: 'bar' }, h('h2', null, 'Log'), h('label', { for: 'log-level', class: 'hint' }, 'Level of the session'), level, set), list), close: stop }
}

export function serverView(app) {
	const facts = h('div', null)
	const draw = later(() => {
		const sides = app.state.sides.filter((s) => s?.revision)
		replace(facts, sides.map((s) => h('section', { class: 'card' },
			h('dl', null, [['name', s.server?.name], ['title', s.server?.title], ['version', s.server?.version], ['revision', `${s.revision} (${s.stateless ? 'stateless' : 'handshake'})`], ['website', s.server?.websiteUrl]]
				.filter(([, text]) => text).map(([name, text]) => [h('dt', null, name), h('dd', null, text)])),
			s.instructions ? [h('h3', null, 'Instructions'), h('p', { class: 'description' }, s.instructions)] : null,
			h('h3', null, 'Capabilities'), viewer(JSON.stringify(s.capabilities ?? {})))))
	})
	const roots = h('textarea', { rows: '2', class: 'code', id: 'roots', placeholder: 'file:///projects/weather' })
	roots.value = app.state.roots.map((r) => r.uri).join('\n')
	const rootsProblem = h('p', { class: 'problem', role: 'alert' })
	const setRoots = button('Set the roots', async () => {
		rootsProblem.textContent = ''
		const list = roots.value.split('\n').map((l) => l.trim()).filter(Boolean).map((uri) => ({ uri }))
		await api.post('roots', { roots: list }).catch((error) => { rootsProblem.textContent = error.message })
	})
	const method = h('input', { type: 'text', id: 'method', class: 'code', value: 'ping', spellcheck: 'false' })
	const params = h('textarea', { rows: '3', class: 'code', id: 'params', spellcheck: 'false' }, '{}')
	const paramsProblem = h('p', { class: 'problem', role: 'alert' })
	const sent = new Set()
	const out = outputs(app, (action) => sent.has(action.id))
	const element = h('div', { class: 'view' })
	const send = async () => {
		paramsProblem.textContent = ''
		try {
			if (parse(params.value).type !== 'object') throw new Error('The params are not an object.')
			for (const id of await app.request(method.value.trim(), params.value)) sent.add(id)
			out.draw() // the result may have arrived first
		} catch (error) {
			paramsProblem.textContent = error.message
		}
	}
	const stop = app.listen((name) => {
		if (name === 'state') draw()
	})
	draw()
	replace(element, h('div', { class: 'head' }, h('h2', null, 'Server')), facts,
		h('div', { class: 'buttons' }, button('Read the lists again', () => api.post('refresh', { side: app.firstConnected() }).catch(app.fail)), button('Disconnect', () => api.post('connect', { side: app.firstConnected(), disconnect: true }).catch(app.fail))),
		h('h3', null, 'Roots'), h('p', { class: 'hint' }, 'The folders and files in which the server should work, one URI per line.'), h('label', { for: 'roots', class: 'hidden' }, 'Roots'), roots, rootsProblem, h('div', { class: 'buttons' }, setRoots),
		h('h3', null, 'Any request'), h('div', { class: 'field' }, h('label', { for: 'method' }, 'Method'), method), h('div', { class: 'field' }, h('label', { for: 'params' }, 'Params'), params), paramsProblem,
		h('div', { class: 'buttons' }, submit(element, 'Send', send)), out.element)
	return {
		element,
		close() {
			stop()
			out.stop()
		},
	}
}
