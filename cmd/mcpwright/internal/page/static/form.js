// Forms from JSON schemas. A field returns its value as JSON text, so that numbers stay exact.

import { h, button, replace } from './dom.js'
import { parse, format, get } from './json.js'

const maxDepth = 6
let ids = 0

// schemaForm makes a form for an object. It returns the element, and functions:
// text() returns the object as JSON text, or null after it has shown what is invalid.
// The options: prefill sets the defaults, rather than showing them; complete(name, text) returns
// proposals for a value.
export function schemaForm(schema, options = {}) {
	const context = { root: schema ?? {}, ...options }
	const fields = objectField(schema ?? {}, { ...context, required: true, depth: 0, bare: true })
	const notice = h('p', { class: 'hint', role: 'status' })
	const area = h('textarea', { class: 'code', rows: '10', spellcheck: 'false', 'aria-label': 'Arguments as JSON' })
	const problem = h('p', { class: 'problem', role: 'alert' })
	const rawPart = h('div', { class: 'raw', hidden: true }, area, problem)
	const asForm = button('Form', () => switchTo(false), { 'aria-pressed': 'true' })
	const asJSON = button('JSON', () => switchTo(true), { 'aria-pressed': 'false' })
	const toggle = h('div', { class: 'segments', role: 'group', 'aria-label': 'Kind of input' }, asForm, asJSON)
	const element = h('div', { class: 'schema-form' }, toggle, fields.element, rawPart, notice)
	let raw = false
	area.addEventListener('input', () => check())

	function check() {
		try {
			const node = parse(area.value)
			problem.textContent = node.type === 'object' ? '' : 'The arguments are not an object.'
			return node
		} catch (error) {
			problem.textContent = error.message
			return null
		}
	}
	function show(asRaw) {
		raw = asRaw
		rawPart.hidden = !raw
		fields.element.hidden = raw
		asForm.setAttribute('aria-pressed', String(!raw))
		asJSON.setAttribute('aria-pressed', String(raw))
		notice.textContent = ''
	}
	function switchTo(asRaw) {
		if (asRaw === raw) return
		if (asRaw) {
			area.value = format(parse(fields.get() ?? '{}'))
			problem.textContent = ''
			show(true)
			return
		}
		const node = check()
		if (!node) return
		if (fields.set(node)) show(false)
		else notice.textContent = 'The form cannot show these arguments.'
	}
	return {
		element,
		text() {
			if (raw) {
				const node = check()
				return node?.type === 'object' ? area.value : null
			}
			if (!fields.check()) {
				element.querySelector('[aria-invalid="true"]')?.focus()
				return null
			}
			return fields.get() ?? '{}'
		},
		set(text) {
			const node = parse(text)
			if (fields.set(node)) {
				show(false)
				return
			}
			area.value = format(node)
			show(true)
			check()
		},
	}
}

// resolve follows references, and finds whether null is allowed.
function resolve(schema, root, depth = 0) {
	if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return { schema: {}, nullable: false }
	if (typeof schema.$ref === 'string' && depth < 8) {
		let target = schema.$ref === '#' ? root : undefined
		if (schema.$ref.startsWith('#/')) {
			target = root
			for (const part of schema.$ref.slice(2).split('/')) target = target?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')]
		}
		if (!target) return { schema: {}, nullable: false }
		const { $ref, ...others } = schema
		return resolve({ ...target, ...others }, root, depth + 1)
	}
	for (const name of ['anyOf', 'oneOf']) {
		const choices = schema[name]
		if (!Array.isArray(choices)) continue
		const others = choices.filter((c) => c?.type !== 'null')
		if (others.length === choices.length) continue
		const { [name]: _, ...rest } = schema
		const inner = others.length === 1 ? { ...rest, ...others[0] } : { ...rest, [name]: others }
		return { schema: resolve(inner, root, depth + 1).schema, nullable: true }
	}
	if (Array.isArray(schema.allOf) && schema.allOf.length === 1) {
		const { allOf, ...rest } = schema
		return resolve({ ...rest, ...allOf[0] }, root, depth + 1)
	}
	if (Array.isArray(schema.type) && schema.type.includes('null')) {
		const types = schema.type.filter((t) => t !== 'null')
		return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, nullable: true }
	}
	return { schema, nullable: schema.nullable === true }
}

// choicesOf returns the values of an enumeration as [JSON text, label], or null.
function choicesOf(schema) {
	if (Array.isArray(schema.enum)) {
		return schema.enum.map((value, i) => [JSON.stringify(value), schema.enumNames?.[i] ?? label(value)])
	}
	const titled = schema.oneOf ?? schema.anyOf
	if (Array.isArray(titled) && titled.length && titled.every((c) => c && 'const' in c)) {
		return titled.map((c) => [JSON.stringify(c.const), c.title ?? label(c.const)])
	}
	return null
}

function label(value) {
	return typeof value === 'string' ? value : JSON.stringify(value)
}

// kindOf returns the kind of field for a schema.
function kindOf(schema, depth) {
	if ('const' in schema) return constField
	if (choicesOf(schema)) return choiceField
	const variants = schema.oneOf ?? schema.anyOf
	if (Array.isArray(variants) && variants.length > 1 && depth < maxDepth) return variantField
	switch (schema.type) {
		case 'string': return textField
		case 'number':
		case 'integer': return numberField
		case 'boolean': return booleanField
		case 'array':
			if (schema.items && choicesOf(schema.items) && schema.uniqueItems !== false) return manyField
			if (schema.items && !schema.prefixItems && depth < maxDepth) return arrayField
			return jsonField
	}
	if (schema.properties && depth < maxDepth && !schema.allOf) return objectField
	return jsonField
}

// field makes a field for a value: {element, get, set, clear, check}. get returns JSON text, or
// undefined if there is no value.
function field(schema, context) {
	const { schema: resolved, nullable } = resolve(schema, context.root)
	const make = kindOf(resolved, context.depth)
	const inner = make(resolved, context)
	return nullable ? nullableField(inner) : inner
}

function nullableField(inner) {
	const box = h('input', { type: 'checkbox' })
	const element = h('div', { class: 'nullable' }, inner.element, h('label', { class: 'null' }, box, 'null'))
	const update = () => {
		for (const control of inner.element.querySelectorAll('input, textarea, select, button')) control.disabled = box.checked
		if (inner.element.matches('input, textarea, select')) inner.element.disabled = box.checked
	}
	box.addEventListener('change', update)
	return {
		...inner,
		element,
		get: () => (box.checked ? 'null' : inner.get()),
		set(node) {
			box.checked = node.type === 'null'
			const ok = box.checked || inner.set(node)
			update()
			return ok
		},
		clear() {
			box.checked = false
			update()
			inner.clear()
		},
		check: () => box.checked || inner.check(),
	}
}

// guard shows the problem of a control, and returns a function that checks it.
function guard(control, find) {
	const problem = h('div', { class: 'problem', id: `problem-${++ids}` })
	const check = () => {
		const text = find()
		problem.textContent = text ?? ''
		control.setAttribute('aria-invalid', String(Boolean(text)))
		if (text) control.setAttribute('aria-describedby', problem.id)
		return !text
	}
	control.addEventListener('change', () => { if (problem.textContent || control.value !== '') check() })
	control.addEventListener('input', () => { if (problem.textContent) check() })
	return { problem, check }
}

const formats = { date: '2026-07-28', 'date-time': '2026-07-28T12:00:00Z', email: 'name@example.com', uri: 'https://example.com', time: '12:00:00Z' }
const formatPatterns = {
	date: /^\d{4}-\d\d-\d\d$/, 'date-time': /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/, email: /^[^@\s]+@[^@\s]+$/, uri: /^[a-zA-Z][a-zA-Z0-9+.-]*:/,
}

function textField(schema, context) {
	const placeholder = schema.default !== undefined && !context.prefill ? `default: ${label(schema.default)}` : formats[schema.format] ?? ''
	const control = schema.format === 'date'
		? h('input', { type: 'date', id: context.id })
		: h('textarea', { rows: '1', class: 'grow', id: context.id, placeholder })
	const wrap = h('div', null)
	let touched = false
	control.addEventListener('input', () => { touched = true })
	const value = () => control.value
	const present = () => value() !== '' || (touched && context.required) || context.required
	const { problem, check } = guard(control, () => {
		const text = value()
		if (text === '' && !context.required) return null
		if (text === '' && context.required && (schema.minLength > 0 || schema.format)) return 'A value is required.'
		const length = [...text].length
		if (length < schema.minLength) return `At least ${schema.minLength} characters are required.`
		if (length > schema.maxLength) return `At most ${schema.maxLength} characters are allowed.`
		if (schema.pattern && !matches(schema.pattern, text)) return `The value does not match ${schema.pattern}`
		if (formatPatterns[schema.format] && !formatPatterns[schema.format].test(text)) return `The value is not of the format ${schema.format}.`
		return null
	})
	append(wrap, control, problem)
	if (context.complete) completion(wrap, control, context)
	const set = (text) => { control.value = text }
	if (schema.default !== undefined && (context.prefill || context.required) && typeof schema.default === 'string') set(schema.default)
	return {
		element: wrap,
		get: () => (present() ? JSON.stringify(value()) : undefined),
		set(node) {
			if (node.type !== 'string') return false
			set(node.value)
			return true
		},
		clear: () => set(''),
		check,
	}
}

function append(element, ...children) {
	element.append(...children)
}

function matches(pattern, text) {
	try {
		return new RegExp(pattern, 'u').test(text)
	} catch {
		return true // the browser does not support the pattern
	}
}

// completion shows proposals for a text.
function completion(wrap, control, context) {
	const list = h('ul', { class: 'proposals', hidden: true })
	wrap.append(list)
	let last = 0
	let timer
	const ask = async () => {
		const turn = ++last
		const values = await context.complete(context.name, control.value).catch(() => [])
		if (turn !== last) return
		list.hidden = !values.length
		replace(list, values.slice(0, 12).map((v) => h('li', null, button(v, () => {
			control.value = v
			list.hidden = true
			control.focus()
		}))))
	}
	const soon = () => {
		clearTimeout(timer)
		timer = setTimeout(ask, 150)
	}
	control.addEventListener('input', soon)
	control.addEventListener('focus', soon)
	control.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') list.hidden = true
		if (event.key === 'ArrowDown' && !list.hidden) {
			event.preventDefault()
			list.querySelector('button')?.focus()
		}
	})
	wrap.addEventListener('focusout', (event) => {
		if (!wrap.contains(event.relatedTarget)) {
			last++
			clearTimeout(timer)
			list.hidden = true
		}
	})
}

const numberPattern = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/

function numberField(schema, context) {
	const placeholder = schema.default !== undefined && !context.prefill ? `default: ${schema.default}` : ''
	const control = h('input', { type: 'text', inputmode: 'decimal', id: context.id, placeholder, autocomplete: 'off' })
	const { problem, check } = guard(control, () => {
		const text = control.value.trim()
		if (text === '') return context.required ? 'A number is required.' : null
		if (!numberPattern.test(text)) return 'This is not a number.'
		const n = Number(text)
		if (schema.type === 'integer' && !Number.isInteger(n)) return 'This is not an integer.'
		if (n < schema.minimum) return `The minimum is ${schema.minimum}.`
		if (n > schema.maximum) return `The maximum is ${schema.maximum}.`
		if (n <= schema.exclusiveMinimum) return `The value must be greater than ${schema.exclusiveMinimum}.`
		if (n >= schema.exclusiveMaximum) return `The value must be less than ${schema.exclusiveMaximum}.`
		return null
	})
	if (schema.default !== undefined && (context.prefill || context.required)) control.value = String(schema.default)
	return {
		element: h('div', null, control, problem),
		get: () => (numberPattern.test(control.value.trim()) ? control.value.trim() : undefined),
		set(node) {
			if (node.type !== 'number') return false
			control.value = node.text
			return true
		},
		clear: () => { control.value = '' },
		check,
	}
}

// segments makes a choice among a few values, as radio buttons in a row.
function segments(values, id, initial) {
	const name = `choice-${++ids}`
	const inputs = values.map(([value, text]) => {
		const input = h('input', { type: 'radio', name, value, id: value === initial ? id : undefined })
		input.checked = value === initial
		return [input, h('label', { class: 'segment' }, input, h('span', null, text))]
	})
	return {
		element: h('div', { class: 'segments', role: 'radiogroup' }, inputs.map(([, labelled]) => labelled)),
		get: () => inputs.find(([input]) => input.checked)?.[0].value,
		set(value) {
			for (const [input] of inputs) input.checked = input.value === value
		},
	}
}

function booleanField(schema, context) {
	const first = context.required ? [] : [['', 'not set']]
	let initial = context.required ? 'false' : ''
	if (typeof schema.default === 'boolean' && (context.prefill || context.required)) initial = String(schema.default)
	const choice = segments([...first, ['true', 'true'], ['false', 'false']], context.id, initial)
	return {
		element: choice.element,
		get: () => choice.get() || undefined,
		set(node) {
			if (node.type !== 'boolean') return false
			choice.set(node.text)
			return true
		},
		clear: () => choice.set(context.required ? 'false' : ''),
		check: () => true,
	}
}

function choiceField(schema, context) {
	const choices = choicesOf(schema)
	const control = h('select', { id: context.id },
		context.required && schema.default === undefined ? h('option', { value: '' }, 'Choose…') : !context.required ? h('option', { value: '' }, schema.default !== undefined && !context.prefill ? `not set (default: ${label(schema.default)})` : 'not set') : null,
		choices.map(([value, text]) => h('option', { value }, text)))
	if (schema.default !== undefined && (context.prefill || context.required)) control.value = JSON.stringify(schema.default)
	const { problem, check } = guard(control, () => (context.required && control.value === '' ? 'Choose a value.' : null))
	return {
		element: h('div', null, control, problem),
		get: () => control.value || undefined,
		set(node) {
			const text = JSON.stringify(JSON.parse(format(node)))
			if (!choices.some(([value]) => value === text)) return false
			control.value = text
			return true
		},
		clear: () => { control.value = '' },
		check,
	}
}

// manyField chooses several values of an enumeration.
function manyField(schema, context) {
	const choices = choicesOf(schema.items)
	const initial = Array.isArray(schema.default) && (context.prefill || context.required) ? schema.default.map((v) => JSON.stringify(v)) : []
	const boxes = choices.map(([value, text], i) => {
		const box = h('input', { type: 'checkbox', value, id: i === 0 ? context.id : undefined })
		box.checked = initial.includes(value)
		return [box, h('label', { class: 'check' }, box, text)]
	})
	const problem = h('div', { class: 'problem' })
	const chosen = () => boxes.filter(([box]) => box.checked).map(([box]) => box.value)
	return {
		element: h('div', { class: 'many' }, boxes.map(([, labelled]) => labelled), problem),
		get: () => (chosen().length || context.required ? `[${chosen().join(',')}]` : undefined),
		set(node) {
			const texts = node.items?.map((n) => JSON.stringify(JSON.parse(format(n))))
			if (!texts || texts.some((t) => !choices.some(([value]) => value === t))) return false
			for (const [box] of boxes) box.checked = texts.includes(box.value)
			return true
		},
		clear() {
			for (const [box] of boxes) box.checked = false
		},
		check() {
			const n = chosen().length
			problem.textContent = ''
			if (n === 0 && !context.required) return true
			if (n < schema.minItems) problem.textContent = `Choose at least ${schema.minItems}.`
			if (n > schema.maxItems) problem.textContent = `Choose at most ${schema.maxItems}.`
			return !problem.textContent
		},
	}
}

function constField(schema, context) {
	const text = JSON.stringify(schema.const)
	return {
		element: h('code', { class: 'const' }, text),
		get: () => (context.required ? text : undefined),
		set: (node) => JSON.stringify(JSON.parse(format(node))) === text,
		clear() {},
		check: () => true,
	}
}

function jsonField(schema, context) {
	const control = h('textarea', { rows: '3', class: 'code', spellcheck: 'false', id: context.id, placeholder: schema.type ? `JSON (${[].concat(schema.type).join(' or ')})` : 'JSON' })
	if (schema.default !== undefined && (context.prefill || context.required)) control.value = JSON.stringify(schema.default)
	const { problem, check } = guard(control, () => {
		if (control.value.trim() === '') return context.required ? 'A value is required.' : null
		try {
			parse(control.value)
			return null
		} catch (error) {
			return error.message
		}
	})
	return {
		element: h('div', null, control, problem),
		get() {
			try {
				parse(control.value)
				return control.value
			} catch {
				return undefined
			}
		},
		set(node) {
			control.value = format(node)
			return true
		},
		clear: () => { control.value = '' },
		check,
	}
}

function variantField(schema, context) {
	const variants = (schema.oneOf ?? schema.anyOf).map((v) => resolve(v, context.root).schema)
	const { oneOf, anyOf, ...common } = schema
	const fields = variants.map((v) => field({ ...common, ...v, properties: v.properties ? { ...common.properties, ...v.properties } : undefined }, { ...context, depth: context.depth + 1 }))
	const select = h('select', { id: context.id, 'aria-label': 'Kind of value' }, variants.map((v, i) => h('option', { value: i }, v.title ?? v.type ?? `kind ${i + 1}`)))
	const body = h('div', { class: 'variant' }, fields[0].element)
	const current = () => fields[Number(select.value)]
	select.addEventListener('change', () => replace(body, current().element))
	return {
		element: h('div', null, select, body),
		get: () => current().get(),
		set(node) {
			const i = fields.findIndex((f) => f.set(node))
			if (i < 0) return false
			select.value = String(i)
			replace(body, fields[i].element)
			return true
		},
		clear: () => fields.forEach((f) => f.clear()),
		check: () => current().check(),
	}
}

function arrayField(schema, context) {
	const list = h('div', { class: 'items' })
	const problem = h('div', { class: 'problem' })
	let items = []
	const redraw = () => replace(list, items.map((item) => item.row))
	const add = (focus) => {
		const id = `field-${++ids}`
		const inner = field(schema.items, { ...context, id, required: true, depth: context.depth + 1, complete: undefined })
		const item = { inner }
		item.row = h('div', { class: 'item' }, inner.element, button('✕', () => {
			items = items.filter((other) => other !== item)
			redraw()
			adder.focus()
		}, { class: 'quiet', 'aria-label': 'Remove this item' }))
		items.push(item)
		redraw()
		if (focus) item.row.querySelector('input, textarea, select')?.focus()
		return inner
	}
	const adder = button('+ Add an item', () => add(true), { class: 'link', id: context.id })
	const set = (nodes) => {
		items = []
		const ok = nodes.every((node) => add(false).set(node))
		redraw()
		return ok
	}
	if (Array.isArray(schema.default) && (context.prefill || context.required)) set(schema.default.map((v) => parse(JSON.stringify(v))))
	return {
		element: h('div', { class: 'array' }, list, adder, problem),
		get: () => (items.length || context.required ? `[${items.map((item) => item.inner.get() ?? 'null').join(',')}]` : undefined),
		set: (node) => node.type === 'array' && set(node.items),
		clear() {
			items = []
			redraw()
		},
		check() {
			problem.textContent = ''
			if (items.length || context.required) {
				if (items.length < schema.minItems) problem.textContent = `At least ${schema.minItems} items are required.`
				if (items.length > schema.maxItems) problem.textContent = `At most ${schema.maxItems} items are allowed.`
			}
			return items.map((item) => item.inner.check()).every(Boolean) && !problem.textContent
		},
	}
}

// objectField has a field for each property. An optional object is absent until it is added.
function objectField(schema, context) {
	const required = new Set(Array.isArray(schema.required) ? schema.required : [])
	const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => {
		const id = `field-${++ids}`
		const { schema: resolved } = resolve(property, context.root)
		const inner = field(property, {
			...context, id, name, required: required.has(name), depth: context.depth + 1, bare: false,
			complete: context.depth === 0 ? context.complete : undefined,
		})
		const type = typeText(resolved)
		const element = h('div', { class: 'field' },
			h('label', { for: id }, h('span', { class: 'field-name' }, context.prefill && resolved.title ? resolved.title : name), required.has(name) ? h('span', { class: 'required', title: 'required' }, 'required') : null, h('span', { class: 'type' }, type)),
			resolved.description ? h('p', { class: 'hint' }, resolved.description) : null,
			inner.element)
		return { name, inner, element }
	})
	const body = h('div', { class: context.bare ? 'fields' : 'fields nested' }, fields.map((f) => f.element))
	if (!fields.length && context.bare) body.append(h('p', { class: 'hint' }, 'There are no arguments.'))
	let present = context.required || context.bare
	const adder = button('+ Add', () => {
		showObject(true)
		body.querySelector('input, textarea, select')?.focus()
	}, { class: 'link', id: context.id })
	const remover = button('Remove', () => {
		showObject(false)
		adder.focus()
	}, { class: 'link' })
	const element = context.required || context.bare ? body : h('div', null, adder, body, remover)
	function showObject(visible) {
		present = visible
		if (context.required || context.bare) return
		adder.hidden = visible
		remover.hidden = !visible
		body.hidden = !visible
	}
	showObject(present)
	return {
		element,
		get() {
			if (!present) return undefined
			const members = fields.map((f) => [f.name, f.inner.get()]).filter(([, text]) => text !== undefined)
			return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
		},
		set(node) {
			if (node.type !== 'object') return false
			const names = node.members.map((m) => m.name)
			if (names.some((name) => !fields.some((f) => f.name === name)) || new Set(names).size < names.length) return false
			showObject(true)
			return fields.every((f) => {
				const member = get(node, f.name)
				if (member) return f.inner.set(member)
				f.inner.clear()
				return true
			})
		},
		clear() {
			showObject(context.required || context.bare)
			fields.forEach((f) => f.inner.clear())
		},
		check: () => !present || fields.map((f) => f.inner.check()).every(Boolean),
	}
}

function typeText(schema) {
	if ('const' in schema) return 'constant'
	if (choicesOf(schema)) return 'choice'
	if (schema.type === 'array') return `array of ${schema.items?.type ?? 'values'}`
	const limits = []
	if (schema.minimum > -Number.MAX_SAFE_INTEGER) limits.push(`≥ ${schema.minimum}`)
	if (schema.maximum < Number.MAX_SAFE_INTEGER) limits.push(`≤ ${schema.maximum}`)
	return [[].concat(schema.type ?? 'any').join(' or '), schema.format, ...limits].filter(Boolean).join(' · ')
}
