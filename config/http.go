package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Web holds the options of the page, the metrics and the JSON interface.
type Web struct {
	Listen    HTTPAddress `group:"Web page and metrics:" name:"http" placeholder:"HOST:PORT" help:"Serve a web page, metrics for Prometheus, probes and a JSON interface on this address (default address ${http}); off without this option. Addresses other than loopback need a token."`
	Token     string      `group:"Web page and metrics:" name:"http-token" placeholder:"TEXT" secret:"" help:"Require this token, of at least 16 characters. Every user of this machine can read a command line: use the variable or --http-token-file."`
	TokenFile string      `group:"Web page and metrics:" name:"http-token-file" placeholder:"FILE" help:"Read the token from this file."`
	Hosts     []string    `group:"Web page and metrics:" name:"http-host" sep:"none" placeholder:"NAME" help:"Accept requests for the host NAME, too, besides localhost, addresses, the name of this machine and the one in the ROS graph. May be given several times."`
	Origins   []string    `group:"Web page and metrics:" name:"http-origin" placeholder:"ORIGIN" help:"Let pages of these origins, such as https://viewer.example.org, open the live view, too, besides the pages of this server, the Foxglove application and desktop applications. May be given several times."`
}

// maxTokenBytes is the limit of the size of a token file.
const maxTokenBytes = 4 << 10

// Secret returns the token; empty if there is none.
func (w *Web) Secret() (string, error) {
	switch {
	case w.TokenFile == "":
		return w.Token, nil
	case w.Token != "":
		return "", errors.New("--http-token and --http-token-file exclude each other")
	}
	f, err := os.Open(w.TokenFile)
	if err != nil {
		return "", fmt.Errorf("the file of --http-token-file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
	token := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", fmt.Errorf("the file of --http-token-file: %w", err)
	case len(b) > maxTokenBytes:
		return "", fmt.Errorf("%s is longer than %d bytes: is it a file with a token?", w.TokenFile, maxTokenBytes)
	case token == "":
		return "", fmt.Errorf("%s is empty: want a token", w.TokenFile)
	}
	return token, nil
}

// Check adds what is wrong with the options. checkToken and checkListen are those of the server.
func (w *Web) Check(v *ValueErrors, checkToken func(token string) error, checkListen func(address string, hasToken bool) error) {
	option := "http-token"
	if w.TokenFile != "" {
		option = "http-token-file"
	}
	token, err := w.Secret()
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		err = fmt.Errorf("%w: want a file with the token, which this user may read", file.Err)
	case err == nil:
		err = checkToken(token)
	}
	v.Add(option, w.TokenFile, err)
	if w.Listen != "" {
		v.Add("http", string(w.Listen), checkListen(string(w.Listen), token != "" || err != nil))
	}
	v.Check("http-host", checkHostName, w.Hosts...)
	v.Check("http-origin", checkOrigin, w.Origins...)
}

// checkHostName refuses what is no name of a machine.
func checkHostName(name string) error {
	if strings.ContainsAny(name, "/:@?# \t") {
		return errors.New("want a name alone, such as robot7.local, without http:// and without a port")
	}
	return nil
}

// checkOrigin refuses what no browser sends as the origin of a page that can be named.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host || strings.Contains(u.Host, "*") {
		return errors.New("want the start of a page's address, with http:// or https:// and without a path, such as https://viewer.example.org or http://10.0.0.5:8080")
	}
	return nil
}

// HTTPAddress is a host:port to serve on. The bare option means the default; empty means
// not to serve.
type HTTPAddress string

// DefaultHTTPAddress is where the bare option serves. defaultHTTPPort is its port.
const (
	DefaultHTTPAddress = "127.0.0.1:" + defaultHTTPPort
	defaultHTTPPort    = "8765"
)

// IsBool tells kong that the option may stand without a value.
func (*HTTPAddress) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (a *HTTPAddress) Decode(ctx *kong.DecodeContext) error {
	*a = DefaultHTTPAddress
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	v := fmt.Sprint(ctx.Scan.Pop().Value)
	if _, err := strconv.ParseUint(v, 10, 16); err == nil { // before parseSwitch, which accepts 0 and 1
		*a = HTTPAddress("127.0.0.1:" + v)
		return nil
	}
	if on, ok := parseSwitch(v); ok {
		if !on {
			*a = ""
		}
		return nil
	}
	v, err := hostAndPort(v, DefaultHTTPAddress, defaultHTTPPort)
	*a = HTTPAddress(v)
	return err
}
