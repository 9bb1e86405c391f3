package mapping

import (
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// Mapper maps types for one distribution. It remembers the names that it gave, so that
// two types never get the same name. One goroutine at a time may use it; the conversions
// that it returns never change and may be used by many.
type Mapper struct {
	distro  Distro
	options Options
	ros2    map[string]string    // see tableOf
	back    map[string]string    // Options.Rename, the other way around
	stock   map[string]*msg.Type // types that ship with ROS 2, by name; nil for others
	given   map[string]string    // the names in ROS 2 that ROS 1 types got
	names   *numbered            // those names, and those of Options.Rename
}

// New returns a mapper for a distribution. An error names the option that is wrong.
func New(d Distro, o Options) (*Mapper, error) {
	if _, err := ParseDistro(string(d)); err != nil {
		return nil, err
	}
	m := &Mapper{
		distro: d, options: o, ros2: tableOf(d), back: make(map[string]string),
		stock: make(map[string]*msg.Type), given: make(map[string]string), names: newNumbered(),
	}
	for one, two := range o.Rename {
		switch {
		case msg.FullName(one) == "" || strings.Count(one, "/") != 1:
			return nil, fmt.Errorf("rename of %q: want a ROS 1 type, such as my_msgs/Scan", one)
		case msg.FullName(two) != two || legal(two) != two:
			return nil, fmt.Errorf("rename of %s to %q: want a ROS 2 type, such as my_msgs/msg/Scan", one, two)
		case m.back[two] != "":
			return nil, fmt.Errorf("rename of %s and of %s to the same type %s", min(one, m.back[two]),
				max(one, m.back[two]), two)
		}
		m.back[two] = one
		m.names.taken[two] = true
	}
	return m, nil
}

// To2 converts messages of one ROS 1 type to ROS 2.
type To2 struct {
	Type   string // as "sensor_msgs/msg/Imu"
	Schema string // the definition, encoding "ros2msg", with those of all types it is made of
	Hash   string // "RIHS01_…", the type description hash
	Notes  []Note

	plan    *cdr.Plan
	options cdr.Options
}

// To1 converts messages of one ROS 2 type to ROS 1.
type To1 struct {
	Type       string // as "sensor_msgs/Imu"
	Hash       string // "RIHS01_…" of the ROS 2 type
	MD5Sum     string
	Definition string // with those of all types it is made of
	Notes      []Note

	plan      *cdr.Plan
	fieldless bool
}

// Fieldless reports whether the ROS 2 type has no fields.
func (c *To1) Fieldless() bool { return c.fieldless }

// To2 returns how messages of a ROS 1 type are converted to ROS 2. Errors match [ErrType]
// or are a rosmsg.DefinitionError.
//
// Two definitions of one ROS 1 type may yield the same Type with different hashes. A bag of
// ROS 2 can hold only one of them.
func (m *Mapper) To2(type1, definition string) (*To2, error) {
	if msg.FullName(type1) == "" || strings.Count(type1, "/") != 1 {
		return nil, fmt.Errorf("%q is not of the form package/Type: %w", type1, ErrType)
	}
	one, err := rosmsg.Parse(type1, definition)
	if err != nil {
		return nil, err
	}
	d := &deriver2{mapper: m, pairing: newPairing(one), done: make(map[string]*msg.Type)}
	two, err := d.derive(one)
	if err != nil {
		return nil, err
	}
	plan, err := d.pairing.compile(pair{one, two})
	if err != nil {
		return nil, err
	}
	return &To2{
		Type: two.Name, Schema: two.Schema(), Hash: two.Hash(),
		Notes: append(d.notes, d.pairing.notes(true)...),
		plan:  plan, options: cdr.Options{RefuseLateTimes: m.options.RefuseLateTimes},
	}, nil
}

// To1 returns how messages of a ROS 2 type are converted to ROS 1. The schema is text of
// encoding "ros2msg". Errors match [ErrType] or are a msg.DefinitionError.
func (m *Mapper) To1(type2, schema string) (*To1, error) {
	two, err := msg.Parse(type2, schema, m.stock2)
	if err != nil {
		return nil, err
	}
	d := &deriver1{
		mapper: m, texts: make(map[string]string), names: make(map[string]string),
		taken: make(map[string]string),
	}
	if err := d.derive(two); err != nil {
		return nil, err
	}
	name := d.names[two.Name]
	definition := compose1(name, d.texts)
	one, err := rosmsg.Parse(name, definition)
	if err != nil {
		return nil, err
	}
	p := newPairing(one)
	for _, t := range append(two.Dependencies(), two) {
		name := d.names[t.Name]
		if _, derived := d.texts[name]; derived && p.parts[name] != nil {
			p.same[pair{p.parts[name], t}] = true
		}
	}
	plan, err := p.compile(pair{one, two})
	if err != nil {
		return nil, err
	}
	return &To1{
		Type: name, Hash: two.Hash(), MD5Sum: one.MD5Sum(), Definition: definition,
		Notes: append(d.notes, p.notes(false)...),
		plan:  plan, fieldless: len(two.Fields) == 0,
	}, nil
}

// compile makes the plan of two types.
func (p *pairing) compile(t pair) (*cdr.Plan, error) {
	s := p.lay(t)
	if p.err != nil {
		return nil, p.err
	}
	plan, err := cdr.Compile(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrType)
	}
	return plan, nil
}

// Schema returns the definition of a type that ships with the mapper's distribution, for
// bags without definitions. The name is of the form "std_msgs/msg/String".
func (m *Mapper) Schema(type2 string) (schema string, ok bool) {
	t := m.stock2(type2)
	if t == nil {
		return "", false
	}
	return t.Schema(), true
}

// Append appends a ROS 1 payload as CDR, with its encapsulation header, and returns the
// extended slice. It adds to n what had to change; n may be nil. On an error, which
// matches [ErrCorrupt], it returns dst as it was. It allocates nothing but what dst needs.
func (c *To2) Append(dst, payload []byte, n *Counts) ([]byte, error) {
	return c.plan.ToCDR(dst, payload, n, c.options)
}

// Append appends a CDR message, which starts with its encapsulation header, as ROS 1
// payload and returns the extended slice. It adds to n what had to change; n may be nil.
// On an error, which matches [ErrCorrupt], it returns dst as it was. It allocates nothing
// but what dst needs.
func (c *To1) Append(dst, message []byte, n *Counts) ([]byte, error) {
	return c.plan.FromCDR(dst, message, n)
}

// stock2 returns a type that ships with the distribution, or nil.
func (m *Mapper) stock2(name string) *msg.Type {
	if t, ok := m.stock[name]; ok {
		return t
	}
	t := m.makeStock2(name)
	m.stock[name] = t
	return t
}

// twin2 returns the type that ships with the distribution and is the same as a ROS 1 type of that name,
// or nil.
func (m *Mapper) twin2(name string) *msg.Type {
	if isApart(name) {
		return nil
	}
	return m.stock2(name)
}

func (m *Mapper) makeStock2(name string) *msg.Type {
	if text, ok := m.ros2[name]; ok {
		t, err := msg.Parse(name, text, m.stock2)
		if err != nil {
			panic("mapping: table of ROS 2: " + err.Error())
		}
		return t
	}
	name1 := short(name)
	if strings.Count(name1, "/") != 1 || onlyROS1(name1) || isApart(name1) {
		return nil
	}
	one := stock1(name1)
	if one == nil {
		return nil
	}
	d := &deriver2{mapper: m, pairing: newPairing(one), done: make(map[string]*msg.Type)}
	t, err := d.make(one, name)
	if err != nil {
		panic("mapping: table of noetic: " + err.Error())
	}
	return t
}

// legal is the name that rosidl accepts in place of a name with three parts.
func legal(name2 string) string {
	pkg, typ, _ := strings.Cut(name2, "/msg/")
	return msg.LegalName(pkg) + "/msg/" + msg.LegalMessage(typ)
}

// name2 is the name in ROS 2 of a ROS 1 type.
func (m *Mapper) name2(name1 string) string {
	if name, ok := m.options.Rename[name1]; ok {
		return name
	}
	if name, ok := renames[name1]; ok {
		return name
	}
	if name, ok := m.given[name1]; ok {
		return name
	}
	want := plain(name1)
	if m.stock2(want) != nil {
		return want
	}
	name := m.names.name(legal(want), "")
	for m.stock2(name) != nil || m.meansOther(name, name1) {
		name = m.names.name(legal(want), "")
	}
	m.given[name1] = name
	return name
}

// meansOther reports whether a name in ROS 2 would come back as a type that ships with ROS 1 and is not
// name1: stD_msgs/Duration must not become std_msgs/msg/Duration.
func (m *Mapper) meansOther(name2, name1 string) bool {
	back, err := m.name1(name2)
	_, ships := noetic.Text(back)
	return err == nil && ships && back != name1
}

// Name1 returns the name in ROS 1 of a ROS 2 type. What is no message keeps its name.
func (m *Mapper) Name1(type2 string) string {
	if name, err := m.name1(type2); err == nil {
		return name
	}
	return type2
}

// name1 is the name in ROS 1 of a ROS 2 type.
func (m *Mapper) name1(name2 string) (string, error) {
	if name, ok := m.back[name2]; ok {
		return name, nil
	}
	if name, ok := renamesBack[name2]; ok {
		return name, nil
	}
	pkg, typ, ok := strings.Cut(name2, "/msg/")
	if !ok || strings.Contains(typ, "/") {
		return "", fmt.Errorf("%s is no message, but part of a service or an action: %w", name2, ErrType)
	}
	return strings.TrimLeft(pkg, "_") + "/" + strings.TrimLeft(typ, "_"), nil
}
