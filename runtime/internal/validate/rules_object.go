package validate

// fewProperties is the number of properties up to which they are searched without
// an index.
const fewProperties = 8

func (c *compiler) fillObject(n *node, at *members) error {
	o := objectRules{
		minProps:    c.countAt(at[kwMinProperties], 0),
		maxProps:    c.countAt(at[kwMaxProperties], -1),
		names:       c.child(at[kwPropertyNames]),
		unevaluated: c.child(at[kwUnevaluatedProperties]),
	}
	if x := at[kwAdditionalProperties]; x != 0 {
		if allowed, ok := c.boolean(x); !ok || allowed {
			o.additional = c.child(x)
		} else {
			o.noAdditional = true
		}
	}
	c.fillProperties(&o, at)
	if err := c.fillPatterns(&o, at[kwPatternProperties]); err != nil {
		return err
	}
	c.fillDependencies(&o, at[kwDependencies])
	c.fillDependencies(&o, at[kwDependentRequired])
	c.fillDependencies(&o, at[kwDependentSchemas])
	if o.properties == nil && o.patterns == nil && o.additional == nil && !o.noAdditional && o.names == nil && o.unevaluated == nil && o.minProps == 0 && o.maxProps < 0 {
		return nil
	}
	n.object = clone(o)
	return nil
}

// fillProperties compiles properties and required.
func (c *compiler) fillProperties(o *objectRules, at *members) {
	p, r := at[kwProperties], at[kwRequired]
	count := uint32(0)
	if p != 0 {
		count = c.values[p].count
	}
	if r != 0 {
		count = max(count, c.values[r].count)
	}
	if count == 0 {
		return
	}
	o.properties = make([]property, 0, count)
	if p != 0 {
		for i := p + 1; i < c.values[p].end; i = c.after(i + 1) {
			o.properties = append(o.properties, property{name: c.string(i), schema: c.node(i + 1)})
		}
	}
	if r != 0 {
		for i := r + 1; i < c.values[r].end; i++ {
			o.required++
			o.properties[o.add(c.string(i))].required = o.required
		}
	}
	o.buildIndex()
}

// find returns the index of the property with a name, or -1.
func (o *objectRules) find(name string) int {
	if len(o.properties) <= fewProperties {
		for i := range o.properties {
			if o.properties[i].name == name {
				return i
			}
		}
		return -1
	}
	if i, ok := o.index[name]; ok {
		return i
	}
	return -1
}

// add returns the index of the property with a name, which it adds if there is
// none.
func (o *objectRules) add(name string) int {
	o.buildIndex()
	i := o.find(name)
	if i < 0 {
		i = len(o.properties)
		o.properties = append(o.properties, property{name: name})
		if o.index != nil {
			o.index[name] = i
		}
		o.buildIndex()
	}
	return i
}

// buildIndex builds the index of many properties, if there is none.
func (o *objectRules) buildIndex() {
	if o.index != nil || len(o.properties) <= fewProperties {
		return
	}
	o.index = make(map[string]int, len(o.properties))
	for i := range o.properties {
		o.index[o.properties[i].name] = i
	}
}

func (c *compiler) fillPatterns(o *objectRules, at uint32) error {
	if at == 0 {
		return nil
	}
	for i := at + 1; i < c.values[at].end; i = c.after(i + 1) {
		p, err := c.pattern(i)
		if err != nil {
			return err
		}
		o.patterns = append(o.patterns, patternRule{*p, c.node(i + 1)})
	}
	return nil
}

// fillDependencies compiles dependencies, dependentRequired or dependentSchemas.
func (c *compiler) fillDependencies(o *objectRules, at uint32) {
	if at == 0 {
		return
	}
	for i := at + 1; i < c.values[at].end; i = c.after(i + 1) {
		d := dependency{property: o.add(c.string(i))}
		if v := &c.values[i+1]; v.kind == kindArray {
			for j := i + 2; j < v.end; j++ {
				d.needs = append(d.needs, o.add(c.string(j)))
			}
		} else {
			d.schema = c.node(i + 1)
		}
		o.dependencies = append(o.dependencies, d)
	}
}
