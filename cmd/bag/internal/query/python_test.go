package query_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
)

// TestPythonHints: for Python that the language does not have, or takes for something else, the error says what to write,
// before a message is looked at.
func TestPythonHints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // empty: it is no error
		`m.header.frame_id.startswith("b")`:                      `write x startsWith "a" for x.startswith(…)`,
		`topic.endswith("x")`:                                    `write x endsWith "a" for`,
		`m.data.find("x") >= 0`:                                  `write x contains "a"`,
		`"a b".split(" ")[0] == "a"`:                             `write split(x, ",") for x.split(…)`,
		`m.data.isdigit()`:                                       "there are no methods such as .isdigit(…)",
		`m._type == "a/B"`:                                       "write type for m._type",
		`msg._md5sum == "x"`:                                     "write md5sum for m._md5sum",
		`m._connection_header["callerid"] == "/a"`:               "write topic, type, md5sum or callerid for",
		`topic == "/a" & m.x > 1`:                                "write a and b for conditions",
		`topic == "/a" | m.x`:                                    "write a or b for conditions",
		`~m.x == 1`:                                              "bitnot(a)",
		`topic == "/a" and m.x // 2 > 1`:                         "write floor(a / b) for a // b",
		`topic == "a//b.find(" and m.data != "m._type & ~"`:      "",
		`t.to_sec() > 5 and m.header.stamp.to_sec() > 2`:         "",
		`any(m.list, .x > 1) && (m.a | int()) == 1 || m?.y == 1`: "",
	} {
		_, err := query.NewExpression(text, nil)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
