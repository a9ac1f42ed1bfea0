// MCP Apps: the view of a tool, in a sandboxed frame. The view is written by the server and is not
// trusted. It has no origin, and exchanges JSON-RPC messages with this page only.

import { h, button, replace } from './dom.js'
import { viewer } from './json.js'
import { content } from './result.js'
import * as api from './api.js'

const version = '2026-01-26'
const maxHeight = 1200
const maxLines = 200
const closing = 500 // milliseconds that a view has to end

// viewURI returns the URI of the view of a tool, or undefined.
export function viewURI(tool) {
	const uri = tool._meta?.ui?.resourceUri ?? tool._meta?.['ui/resourceUri']
	return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined
}

// mayCall reports whether views may call a tool.
function mayCall(tool) {
	const visibility = tool._meta?.ui?.visibility
	return !Array.isArray(visibility) || visibility.includes('app')
}

const dark = matchMedia('(prefers-color-scheme: dark)')

// context returns what a view needs to look like this page.
function context() {
	const style = getComputedStyle(document.documentElement)
	const of = (name) => style.getPropertyValue(name).trim()
	return {
		theme: dark.matches ? 'dark' : 'light',
		styles: {
			variables: {
				'--color-background-primary': of('--panel'), '--color-background-secondary': of('--sunken'), '--color-text-primary': of('--text'), '--color-text-secondary': of('--muted'),
				'--color-border-primary': of('--line'), '--color-ring-primary': of('--accent'), '--font-sans': of('--sans'), '--font-mono': of('--mono'),
			},
		},
	}
}

class ViewError extends Error {
	constructor(code, message) {
		super(message)
		this.code = code
	}
}

// appView shows the view of a tool for an action that has ended with a result. It returns its element,
// and a function that ends the view: its promise is resolved when the element can be removed.
export function appView(app, tool, action) {
	const uri = viewURI(tool)
	const place = h('div', { class: 'frame' })
	const notes = h('div', { class: 'view-notes', 'aria-live': 'polite' })
	const lines = h('ol', { class: 'lines' })
	const count = h('summary', null, 'Messages of the view')
	const element = h('section', { class: 'app', 'aria-label': `View of ${tool.name}` }, h('div', { class: 'caption' }, 'view', h('code', null, uri)), place, notes, h('details', { class: 'traffic' }, count, lines))
	const open = new Map() // requests to the view, by id
	let frame = null
	let lastID = 0
	let seen = 0
	let initialized = false

	const log = (arrow, text) => {
		seen++
		count.textContent = `Messages of the view (${seen})`
		lines.append(h('li', null, `${arrow} ${text}`))
		if (lines.childElementCount > maxLines) lines.firstChild.remove()
	}
	const send = (message) => {
		if (message.method) log('→', message.method)
		frame?.contentWindow?.postMessage({ jsonrpc: '2.0', ...message }, '*') // the frame has no origin that could be named
	}
	const notify = (method, params) => send({ method, params })
	const request = (method, params) => new Promise((resolve) => {
		const id = ++lastID
		open.set(id, resolve)
		send({ id, method, params })
	})

	// note shows something that the view has asked for, in place of an older one of the same kind.
	const note = (kind, ...children) => {
		notes.querySelector(`.view-${kind}`)?.remove()
		notes.append(h('div', { class: `view-note view-${kind}` }, children))
	}

	const methods = {
		'ui/initialize': () => ({
			protocolVersion: version,
			hostInfo: { name: 'mcpwright inspect', version: '1' },
			hostCapabilities: { serverTools: {}, serverResources: {}, openLinks: {}, logging: {}, message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} } },
			hostContext: {
				...context(), toolInfo: { tool }, displayMode: 'inline', availableDisplayModes: ['inline'], platform: 'web', locale: navigator.language,
				timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, containerDimensions: { width: place.clientWidth, maxHeight },
			},
		}),
		ping: () => ({}),
		'tools/call'(params) {
			const called = app.tools(action.side).find((t) => t.name === params.name)
			if (called && !mayCall(called)) throw new ViewError(-32602, `tool ${JSON.stringify(params.name)} is not visible to views`)
			return app.result('tools/call', JSON.stringify({ name: params.name, arguments: params.arguments ?? {} }), [action.side], true)
		},
		'resources/read': (params) => app.result('resources/read', JSON.stringify({ uri: params.uri }), [action.side], true),
		'resources/list': (params) => app.result('resources/list', JSON.stringify({ cursor: params.cursor }), [action.side], true),
		'resources/templates/list': (params) => app.result('resources/templates/list', JSON.stringify({ cursor: params.cursor }), [action.side], true),
		'ui/open-link': (params) => openLink(params.url),
		'ui/message'(params) {
			note('message', h('div', { class: 'caption' }, 'message to the conversation'), [params.content ?? []].flat().map((block) => content(block, app.open)))
			return {}
		},
		'ui/update-model-context'(params) {
			note('context', h('div', { class: 'caption' }, 'context for the model'), viewer(JSON.stringify(params)))
			return {}
		},
		'ui/request-display-mode': () => ({ mode: 'inline' }),
	}

	const notifications = {
		'ui/notifications/initialized'() {
			if (initialized) return
			initialized = true
			notify('ui/notifications/tool-input', { arguments: action.params.arguments ?? {} })
			notify('ui/notifications/tool-result', JSON.parse(action.result))
		},
		'ui/notifications/size-changed'(params) {
			if (params.height > 0) frame.style.height = `${Math.min(Math.ceil(params.height), maxHeight)}px`
		},
		'notifications/message'(params) {
			log('·', `${params.level ?? 'log'}: ${typeof params.data === 'string' ? params.data : JSON.stringify(params.data)}`.slice(0, 1000))
		},
	}

	// openLink opens a page if the person agrees.
	function openLink(link) {
		const url = URL.canParse(link) ? new URL(link) : null
		if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw new ViewError(-32602, 'the URL is not an http or https URL')
		return new Promise((resolve) => {
			const end = (result) => {
				notes.querySelector('.view-link')?.remove()
				resolve(result)
			}
			note('link', h('p', null, 'The view asks to open ', h('code', null, url.href)), h('div', { class: 'buttons' },
				button('Open', () => {
					window.open(url.href, '_blank', 'noopener,noreferrer')
					end({})
				}, { class: 'primary' }),
				button('Refuse', () => end({ isError: true }))))
		})
	}

	async function answer(id, method, params) {
		try {
			if (!Object.hasOwn(methods, method)) throw new ViewError(-32601, 'method not found')
			send({ id, result: await methods[method](params) })
		} catch (error) {
			send({ id, error: { code: error.code ?? -32603, message: error.message, data: error.data } })
		}
	}

	function receive({ source, data }) {
		if (!frame || source !== frame.contentWindow || data?.jsonrpc !== '2.0') return
		const params = data.params ?? {}
		if (typeof data.method !== 'string') {
			open.get(data.id)?.()
			open.delete(data.id)
			return
		}
		log('←', data.method)
		if (data.id !== undefined) answer(data.id, data.method, params)
		else if (Object.hasOwn(notifications, data.method)) notifications[data.method](params)
	}

	const themed = () => notify('ui/notifications/host-context-changed', context())
	addEventListener('message', receive)
	dark.addEventListener('change', themed)

	async function load() {
		try {
			const view = await api.post('view', { side: action.side, uri })
			frame = h('iframe', { sandbox: view.sandbox, src: view.url, title: `View of ${tool.name}`, referrerpolicy: 'no-referrer', class: view.border ? 'border' : undefined })
			replace(place, frame)
		} catch (error) {
			replace(place, h('p', { class: 'problem', role: 'alert' }, error.message))
		}
	}
	load()

	return {
		element,
		async close() {
			if (initialized) await Promise.race([request('ui/resource-teardown', {}), new Promise((resolve) => setTimeout(resolve, closing))])
			removeEventListener('message', receive)
			dark.removeEventListener('change', themed)
			frame = null
		},
	}
}
