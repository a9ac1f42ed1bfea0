package validate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// documentURL is the URL of a schema without $id. References in such schemas are
// resolved against it. It is not a URL that can be loaded.
const documentURL = "mem:///schema"

// resource is a part of the schema with a URL: the schema itself, or a schema in it
// with an $id.
type resource struct {
	url  string
	root uint32
}

// anchor is a schema with a name in its resource.
type anchor struct {
	anchorKey
	at      uint32
	dynamic bool
}

type anchorKey struct {
	resource int32
	name     string
}

// references finds the targets of references. Its maps are filled when they are
// first needed.
type references struct {
	resources int // that urls contains
	urls      map[string]int32
	anchors   int // that the maps below contain
	named     map[anchorKey]int
	dynamic   map[string][]int       // anchors with the same name
	children  map[uint32]*childIndex // of objects and arrays that pointers refer to
}

// childIndex finds the members of an object or the items of an array.
type childIndex struct {
	members map[string]uint32
	items   []uint32
}

// identify stores the resource and the anchors that the schema at a position
// begins. It returns the resource of the schema.
func (c *compiler) identify(k *checker, at uint32, inside int32) int32 {
	if c.values[at].kind != kindObject {
		return inside
	}
	var id, ref, name, dynamic uint32
	for i := at + 1; i < c.values[at].end; i = c.after(i + 1) {
		if raw := c.raw(i); c.values[i+1].kind != kindString || raw == "" || raw[0] != '$' && raw[0] != 'i' && raw[0] != '\\' {
			continue
		}
		switch c.string(i) {
		case "id":
			if c.dialect == draft4 {
				id = i + 1
			}
		case "$id":
			if c.dialect > draft4 {
				id = i + 1
			}
		case "$ref":
			ref = i + 1
		case "$anchor":
			name = i + 1
		case "$dynamicAnchor":
			dynamic = i + 1
		}
	}
	resource := inside
	if id != 0 && (ref == 0 || c.dialect > draft7) { // $ref disables its siblings in older dialects
		resource = c.identifyResource(k, at, id, inside)
	}
	if name != 0 && c.dialect >= draft2019 {
		c.anchors = append(c.anchors, anchor{anchorKey{resource, c.string(name)}, at, false})
	}
	if dynamic != 0 && c.dialect >= draft2020 {
		c.anchors = append(c.anchors, anchor{anchorKey{resource, c.string(dynamic)}, at, true})
	}
	return resource
}

// identifyResource stores the resource of a schema with an $id. A fragment of the
// $id is an anchor.
func (c *compiler) identifyResource(k *checker, at, id uint32, inside int32) int32 {
	part, fragment, _ := strings.Cut(c.string(id), "#")
	to := inside
	if part != "" {
		address, err := resolveURL(c.resources[inside].url, part)
		if err != nil {
			k.fail(id, "%s is not a valid URI reference", quote(part))
			return inside
		}
		if address, _, _ = strings.Cut(address, "#"); at == 0 {
			c.resources[0].url = address
		} else if known, ok := c.resourceOf(address); !ok {
			to = int32(len(c.resources))
			c.resources = append(c.resources, resource{address, at})
		} else if to = known; known != 0 {
			k.fail(id, "%s is the URL of another schema too", quote(address))
		}
	}
	if fragment != "" && fragment != "/" {
		c.anchors = append(c.anchors, anchor{anchorKey{to, fragment}, at, false})
	}
	return to
}

// resourceOf returns the resource with a URL.
func (c *compiler) resourceOf(address string) (int32, bool) {
	x := &c.index
	if x.urls == nil {
		x.urls = map[string]int32{}
	}
	for ; x.resources < len(c.resources); x.resources++ {
		if u := c.resources[x.resources].url; x.urls[u] == 0 {
			x.urls[u] = int32(x.resources) + 1
		}
	}
	i := x.urls[address]
	return i - 1, i > 0
}

// indexAnchors adds new anchors to the index. Of anchors with the same name in a
// resource, the first one is used.
func (c *compiler) indexAnchors() {
	x := &c.index
	if x.named == nil {
		x.named, x.dynamic = map[anchorKey]int{}, map[string][]int{}
	}
	for ; x.anchors < len(c.anchors); x.anchors++ {
		a := &c.anchors[x.anchors]
		if known, ok := x.named[a.anchorKey]; !ok || a.at == c.anchors[known].at {
			x.named[a.anchorKey] = x.anchors // a $dynamicAnchor follows an $anchor
		}
		if a.dynamic {
			x.dynamic[a.name] = append(x.dynamic[a.name], x.anchors)
		}
	}
}

// fillRefs compiles the references of a schema.
func (c *compiler) fillRefs(n *node, at *members) error {
	if x := at[kwRecursiveAnchor]; x != 0 {
		n.recursiveAnchor, _ = c.boolean(x)
	}
	if at[kwRef] == 0 && at[kwRecursiveRef] == 0 && at[kwDynamicRef] == 0 {
		return nil
	}
	alone := n.isPlain() && !n.recursiveAnchor && at[kwRecursiveRef] == 0 && at[kwDynamicRef] == 0
	if n.logic == nil {
		n.logic = new(logicRules)
	}
	l := n.logic
	for _, r := range [...]struct {
		at   uint32
		node **node
	}{{at[kwRef], &l.ref}, {at[kwRecursiveRef], &l.recursiveRef}, {at[kwDynamicRef], &l.dynamicRef}} {
		if r.at == 0 {
			continue
		}
		var err error
		if *r.node, err = c.resolve(n.resource, r.at); err != nil {
			return err
		}
		c.linked = true
	}
	if alone && (l.ref.resource == n.resource || c.dialect < draft2019) {
		n.forward = l.ref
	}
	if l.dynamicRef != nil {
		c.fillDynamic(l, c.string(at[kwDynamicRef]))
	}
	return nil
}

// isPlain reports whether a node has no rules.
func (n *node) isPlain() bool {
	return n.types == 0 && n.values == nil && n.number == nil && n.text == nil && n.array == nil && n.object == nil && n.logic == nil
}

// fillDynamic finds the schemas that a $dynamicRef may refer to, if its target has
// a $dynamicAnchor with the name in the reference.
func (c *compiler) fillDynamic(l *logicRules, ref string) {
	_, name, _ := strings.Cut(ref, "#")
	if name == "" || name[0] == '/' {
		return
	}
	c.indexAnchors()
	i, ok := c.index.named[anchorKey{l.dynamicRef.resource, name}]
	if !ok || !c.anchors[i].dynamic || c.anchors[i].at != l.dynamicRef.at {
		return
	}
	if c.dynamicNames == nil {
		c.dynamicNames = map[string]*dynamicTargets{}
	}
	if l.dynamic = c.dynamicNames[name]; l.dynamic == nil {
		l.dynamic = &dynamicTargets{map[int32]*node{}}
		c.dynamicNames[name], c.dynamic = l.dynamic, true
		for _, i := range c.index.dynamic[name] {
			a := &c.anchors[i]
			if l.dynamic.byResource[a.resource] == nil {
				l.dynamic.byResource[a.resource] = c.node(a.at)
			}
		}
	}
}

// resolve returns the node that the reference at a position refers to. The
// reference is in a resource.
func (c *compiler) resolve(from int32, at uint32) (*node, error) {
	ref := c.string(at)
	address, fragment, _ := strings.Cut(ref, "#")
	if address != "" || !isPlainFragment(ref) && ref != "" {
		absolute, err := resolveURL(c.resources[from].url, ref)
		if err != nil {
			return nil, newError(c.pointer(at), fmt.Sprintf("%q is not a valid URI reference", ref))
		}
		address, fragment, _ = strings.Cut(absolute, "#")
		var ok bool
		if from, ok = c.resourceOf(address); !ok {
			if d := dialectOf(absolute); d != noDialect {
				return c.metaSchema(d), nil
			}
			return nil, newError(c.pointer(at), fmt.Sprintf("%q is not part of the schema, and other schemas are not loaded", ref))
		}
	}
	target, err := c.target(from, fragment)
	if err != nil {
		return nil, newError(c.pointer(at), fmt.Sprintf("%q %v", ref, err))
	}
	return c.node(target), nil
}

// metaSchema returns the node of the meta-schema of a dialect.
func (c *compiler) metaSchema(d dialect) *node {
	if c.metas[d] == nil {
		c.metas[d] = &node{meta: d, resource: -1}
	}
	return c.metas[d]
}

// target returns the position of the schema that a fragment in a resource refers
// to.
func (c *compiler) target(from int32, fragment string) (uint32, error) {
	if fragment == "" || fragment == "/" {
		return c.resources[from].root, nil
	}
	if fragment[0] != '/' {
		c.indexAnchors()
		if i, ok := c.index.named[anchorKey{from, fragment}]; ok {
			return c.anchors[i].at, nil
		}
		return 0, errNotFound
	}
	path, err := url.PathUnescape(fragment)
	if err != nil {
		return 0, err
	}
	at := c.resources[from].root
	for name := range strings.SplitSeq(path[1:], "/") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		var ok bool
		if at, ok = c.childNamed(at, name); !ok {
			return 0, errNotFound
		}
		if p := &c.places[at]; p.resource != 0 {
			from = p.resource - 1
		}
	}
	return at, c.place(at, from)
}

// childNamed returns the position of a member of an object or an item of an array.
// Large ones get an index, so that the time to compile is linear.
func (c *compiler) childNamed(at uint32, name string) (uint32, bool) {
	v := &c.values[at]
	if v.kind < kindArray {
		return 0, false
	}
	if v.kind == kindObject && v.count <= fewMembers {
		return c.member(at, name)
	}
	x := c.index.children[at]
	if x == nil {
		x = c.indexChildren(at)
	}
	if v.kind == kindObject {
		child, ok := x.members[name]
		return child, ok
	}
	i, err := strconv.ParseUint(name, 10, 32)
	if err != nil || i >= uint64(len(x.items)) || name[0] == '0' && name != "0" {
		return 0, false
	}
	return x.items[i], true
}

func (c *compiler) indexChildren(at uint32) *childIndex {
	v, x := &c.values[at], &childIndex{}
	if c.index.children == nil {
		c.index.children = map[uint32]*childIndex{}
	}
	c.index.children[at] = x
	if v.kind == kindArray {
		x.items = make([]uint32, 0, v.count)
		for i := at + 1; i < v.end; i = c.after(i) {
			x.items = append(x.items, i)
		}
		return x
	}
	x.members = make(map[string]uint32, v.count)
	for i := at + 1; i < v.end; i = c.after(i + 1) {
		x.members[c.string(i)] = i + 1
	}
	return x
}

// resolveURL resolves a reference against a URL.
func resolveURL(base, ref string) (string, error) {
	if strings.HasPrefix(ref, "urn:") {
		return ref, nil
	}
	r, err := url.Parse(ref)
	if err != nil {
		return "", err
	}
	if r.IsAbs() {
		return ref, nil
	}
	if strings.HasPrefix(base, "urn:") {
		return base + ref, nil
	}
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return b.ResolveReference(r).String(), nil
}
