// Results of requests.

import { h, button, replace, bytes } from './dom.js'
import { viewer, parse, get, format } from './json.js'

const images = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml', 'image/avif', 'image/bmp']
const longText = 20000

// content shows a part of a result. The function read reads a resource.
export function content(block, read) {
	switch (block?.type) {
		case 'text':
			return text(block.text)
		case 'image':
			return image(block.data, block.mimeType)
		case 'audio':
			return audio(block.data, block.mimeType)
		case 'resource_link':
			return h('div', { class: 'link-card' },
				h('div', null, h('strong', null, block.title ?? block.name ?? block.uri), block.description ? h('p', { class: 'hint' }, block.description) : null, h('code', null, block.uri)),
				button('Read', () => read(block.uri)))
		case 'resource':
			return resource(block.resource ?? {})
	}
	return viewer(JSON.stringify(block))
}

// resource shows the contents of a resource.
export function resource(contents) {
	const kind = (contents.mimeType ?? '').split(';')[0]
	const title = h('div', { class: 'caption' }, h('code', null, contents.uri), kind ? h('span', { class: 'muted' }, kind) : null)
	if (typeof contents.text === 'string') {
		const body = kind.endsWith('json') ? viewer(contents.text) : text(contents.text)
		return h('div', { class: 'resource' }, title, body)
	}
	const data = contents.blob ?? ''
	let body
	if (images.includes(kind)) body = image(data, kind)
	else if (kind.startsWith('audio/')) body = audio(data, kind)
	else body = download(data, kind, contents.uri)
	return h('div', { class: 'resource' }, title, body)
}

function text(value) {
	const shown = String(value ?? '')
	const element = h('pre', { class: 'text', tabindex: '0' }, shown.slice(0, longText))
	if (shown.length <= longText) return element
	const more = button(`Show all ${shown.length} characters`, () => {
		element.textContent = shown
		more.remove()
	}, { class: 'link' })
	return h('div', null, element, more)
}

function image(data, kind) {
	if (!images.includes(kind)) return download(data, kind, 'image')
	const element = h('img', { src: `data:${kind};base64,${data}`, alt: `picture of the type ${kind}` })
	const size = h('span', { class: 'muted' })
	element.addEventListener('load', () => { size.textContent = `${kind}, ${element.naturalWidth} × ${element.naturalHeight}` })
	element.addEventListener('error', () => { size.textContent = `${kind}: the browser cannot show the picture` })
	return h('figure', null, element, h('figcaption', null, size))
}

function audio(data, kind) {
	if (!/^audio\/[a-z0-9.+-]+$/i.test(kind)) return download(data, kind, 'audio')
	return h('audio', { controls: true, src: `data:${kind};base64,${data}` })
}

function download(data, kind, uri) {
	let decoded
	try {
		decoded = Uint8Array.from(atob(data), (c) => c.charCodeAt(0))
	} catch {
		return h('p', { class: 'problem' }, 'The data is not base64.')
	}
	const name = uri.split('/').pop() || 'data'
	return h('div', { class: 'link-card' }, h('span', null, `${kind || 'bytes'}, ${bytes(decoded.length)}`), button('Save', () => {
		// The type is not the one of the server, so that no browser opens the file as a page.
		const url = URL.createObjectURL(new Blob([decoded], { type: 'application/octet-stream' }))
		h('a', { href: url, download: name }).click()
		setTimeout(() => URL.revokeObjectURL(url), 10000)
	}))
}

// result shows the result of an action, as its method has it, or as JSON.
export function result(action, read) {
	const json = viewer(action.result)
	let view
	try {
		view = byMethod(action, JSON.parse(action.result), read)
	} catch {
		view = null // shown as JSON
	}
	if (!view) return json
	const body = h('div', null, view)
	const asView = button('Result', () => show(true), { 'aria-pressed': 'true' })
	const asJSON = button('JSON', () => show(false), { 'aria-pressed': 'false' })
	const show = (first) => {
		replace(body, first ? view : json)
		asView.setAttribute('aria-pressed', String(first))
		asJSON.setAttribute('aria-pressed', String(!first))
	}
	return h('div', null, h('div', { class: 'segments small', role: 'group', 'aria-label': 'View of the result' }, asView, asJSON), body)
}

function byMethod(action, value, read) {
	switch (action.method) {
		case 'tools/call': {
			const parts = repeats(value) ? [] : (value.content ?? []).map((block) => content(block, read))
			if (value.structuredContent !== undefined) {
				parts.push(h('div', { class: 'caption' }, 'structured content'), viewer(format(get(parse(action.result), 'structuredContent'))))
			}
			if (!parts.length) parts.push(h('p', { class: 'hint' }, 'The result is empty.'))
			return h('div', { class: value.isError ? 'parts failed' : 'parts' }, value.isError ? h('p', { class: 'problem' }, 'The tool failed.') : null, parts)
		}
		case 'resources/read':
			return h('div', { class: 'parts' }, value.contents.map((contents) => resource(contents)))
		case 'prompts/get':
			return h('div', { class: 'parts' }, value.description ? h('p', { class: 'hint' }, value.description) : null, value.messages.map((m) => h('div', { class: `bubble ${m.role === 'user' ? 'user' : 'assistant'}` }, h('div', { class: 'caption' }, m.role), content(m.content, read))))
	}
	return null
}

// repeats reports whether the only text of a result is its structured content.
function repeats(value) {
	if (value.structuredContent === undefined) return false
	const structured = JSON.stringify(value.structuredContent)
	return value.content?.length === 1 && value.content.some((block) => {
		try {
			return block.type === 'text' && JSON.stringify(JSON.parse(block.text)) === structured
		} catch {
			return false
		}
	})
}
