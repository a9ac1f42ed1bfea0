// h makes an element. Text is always inserted as text. Properties that begin with "on" are listeners,
// and "class" is the class. Children that are null or false are left out.
export function h(tag, properties, ...children) {
	const element = document.createElement(tag)
	for (const [name, value] of Object.entries(properties ?? {})) {
		if (value === undefined || value === null || value === false) continue
		if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
		else element.setAttribute(name, value === true ? '' : String(value))
	}
	append(element, children)
	return element
}

function append(element, children) {
	for (const child of children) {
		if (Array.isArray(child)) append(element, child)
		else if (child !== null && child !== undefined && child !== false) element.append(child)
	}
}

// replace replaces the children of an element.
export function replace(element, ...children) {
	element.replaceChildren()
	append(element, children)
	return element
}

// remove removes elements: at once, or hides them until a promise is resolved.
export function remove(elements, ended) {
	for (const element of elements) {
		if (!ended) {
			element.remove()
			continue
		}
		element.hidden = true
		ended.finally(() => element.remove())
	}
}

// button makes a button that does not submit a form.
export function button(label, onclick, properties) {
	return h('button', { type: 'button', onclick, ...properties }, label)
}

// later returns a function that calls f once before the next frame, however often it is called.
export function later(f) {
	let waiting = false
	return () => {
		if (waiting) return
		waiting = true
		const run = () => {
			if (!waiting) return
			waiting = false
			f()
		}
		requestAnimationFrame(run)
		setTimeout(run, 100) // a hidden page has no frames
	}
}

// milliseconds formats a time span.
export function milliseconds(ms) {
	if (ms < 0) return '0 ms'
	if (ms < 10) return `${ms.toFixed(1)} ms`
	if (ms < 1000) return `${ms.toFixed(0)} ms`
	if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`
	return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`
}

// bytes formats a size.
export function bytes(n) {
	if (n < 1000) return `${n} B`
	if (n < 1e6) return `${(n / 1e3).toFixed(1)} kB`
	return `${(n / 1e6).toFixed(1)} MB`
}

// arrows moves the focus among the buttons of an element with the arrow keys, Home and End.
export function arrows(element, selector) {
	element.addEventListener('keydown', (event) => {
		const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
		const all = [...element.querySelectorAll(selector)]
		const at = all.indexOf(document.activeElement)
		if (at < 0) return
		let next
		if (step) next = all[at + step]
		else if (event.key === 'Home') next = all[0]
		else if (event.key === 'End') next = all[all.length - 1]
		else return
		event.preventDefault()
		next?.focus()
	})
}
