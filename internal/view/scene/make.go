package scene

import (
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// signs are fields by which types are known, whatever their name is.
var signs = []struct {
	kind   Kind
	fields map[string]string
}{
	{Points, map[string]string{"angle_min": "float32", "angle_increment": "float32", "ranges": "float32[]"}},
	{Points, map[string]string{
		"fields": "sensor_msgs/PointField[]", "point_step": "uint32",
		"data": "uint8[]",
	}},
	{Grid, map[string]string{"info.resolution": "float32", "info.width": "uint32", "data": "int8[]"}},
	{Path, map[string]string{"poses": "geometry_msgs/PoseStamped[]"}},
	{Tree, map[string]string{"transforms": "geometry_msgs/TransformStamped[]"}},
	{Levels, map[string]string{"status": "diagnostic_msgs/DiagnosticStatus[]"}},
	{Log, map[string]string{"name": "string", "msg": "string", "file": "string", "function": "string"}},
}

// KindOf returns the kind of scene that messages of a type have, and "" if they have none.
func KindOf(t *rosmsg.Type) Kind {
	for _, s := range signs {
		is := true
		for path, typ := range s.fields {
			p, err := t.Path(path)
			is = is && err == nil && p.Type() == typ
		}
		if is {
			return s.kind
		}
	}
	if placeOf(t) != nil {
		return Track
	}
	return ""
}

// Of makes the scene of one message, of a kind that does not gather.
func Of(t *rosmsg.Type, payload []byte) (any, error) {
	m := message{t: t, payload: payload}
	switch kind := KindOf(t); {
	case kind == Grid:
		return m.grid()
	case kind == Path:
		return m.path()
	case kind == Points && m.has("ranges"):
		return m.scan()
	case kind == Points:
		return m.cloud()
	}
	panic("scene: no scene of one message of type " + t.Name())
}

// Gather returns what makes a scene of a kind that gathers.
func Gather(k Kind, o Options) Gatherer {
	switch k {
	case Track:
		return &track{options: o}
	case Tree:
		return &tree{options: o, frames: make(map[string]*frame)}
	case Levels:
		return &levels{options: o, names: make(map[string]*levelName)}
	case Log:
		o.Node, o.Text = strings.ToLower(o.Node), strings.ToLower(o.Text)
		return &logList{options: o, known: make(map[logKey]bool)}
	case Points, Grid, Path:
	}
	panic("scene: " + string(k) + " is not gathered")
}
