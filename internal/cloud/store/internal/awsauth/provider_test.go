package awsauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/awsauth"
)

// server is the service for roles, that of a container and that of a machine, in one.
func server(t *testing.T, seen *[]string, expires func() time.Time) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*seen = append(*seen, r.Method+" "+r.URL.Path+" "+string(body))
		end := expires().UTC().Format(time.RFC3339)
		switch r.URL.Path {
		case "/":
			signed := r.Header.Get("Authorization")
			kind := "AssumeRole"
			if strings.Contains(string(body), "WebIdentity") {
				kind += "WithWebIdentity"
				if signed != "" {
					t.Errorf("a request with a token is signed: %s", signed)
				}
			} else if !strings.Contains(signed, "Credential=base/") || !strings.Contains(signed, "/sts/aws4_request") {
				t.Errorf("signed by %q", signed)
			}
			if strings.Contains(string(body), "forbidden") {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>")
				return
			}
			fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>role</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"+
				"<SessionToken>t</SessionToken><Expiration>%[2]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>", kind, end)
		case "/container":
			fmt.Fprintf(w, `{"AccessKeyId":"container %s","SecretAccessKey":"s","Token":"t","Expiration":%q}`, r.Header.Get("Authorization"), end)
		case "/latest/api/token":
			fmt.Fprint(w, "ticket")
		case "/latest/meta-data/iam/security-credentials/":
			fmt.Fprint(w, "fleet")
		case "/latest/meta-data/iam/security-credentials/fleet":
			fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"machine %s","SecretAccessKey":"s","Token":"t","Expiration":%q}`,
				r.Header.Get("X-Aws-Ec2-Metadata-Token"), end)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// environment sets the variables of the AWS tools to those of a test only.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, value := range variables {
		if file, ok := strings.CutPrefix(name, "~/"); ok {
			if err := os.WriteFile(filepath.Join(home, file), []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Setenv(name, strings.ReplaceAll(value, "~", home))
	}
}

const config = `# a comment
[default]
region = eu-central-1
aws_access_key_id = from-config ; a comment
aws_secret_access_key = s
s3 =
  max_concurrent_requests = 20

[profile robot]
aws_access_key_id=robot
aws_secret_access_key=s#1

[profile role]
role_arn = arn:role
source_profile = base
external_id = x1

[profile base]
aws_access_key_id = base
aws_secret_access_key = s

[profile itself]
role_arn = arn:role
source_profile = itself
aws_access_key_id = base
aws_secret_access_key = s

[profile circle]
role_arn = arn:role
source_profile = elcric
[profile elcric]
role_arn = arn:role
source_profile = circle

[profile forbidden]
role_arn = arn:forbidden
source_profile = base
[profile factor]
role_arn = arn:role
mfa_serial = 1
source_profile = base
[profile environment]
role_arn = arn:role
credential_source = Environment
[profile nowhere]
role_arn = arn:role
credential_source = Nowhere
[profile sso]
sso_session = office
[profile process]
credential_process = echo '{"Version":1,"AccessKeyId":"process","SecretAccessKey":"s","SessionToken":"t"}'
[profile broken]
credential_process = echo hidden
[profile silent]
credential_process = echo '{}'
[profile failing]
credential_process = false
[profile empty]
region = eu-west-1
[sso-session office]
aws_access_key_id = of-no-profile
`

// TestProvider: credentials are found where the tools of AWS find them, in their order.
func TestProvider(t *testing.T) {
	for name, test := range map[string]struct {
		profile, role string
		variables     map[string]string
		want          string // the key and the token, or a part of the error
		asked         string // the services that were asked
	}{
		"the environment":            {variables: map[string]string{"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "AWS_PROFILE": "robot"}, want: "env t"},
		"a profile of the URL first": {profile: "robot", variables: map[string]string{"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"}, want: "robot "},
		"a profile":                  {variables: map[string]string{"AWS_PROFILE": "robot"}, want: "robot "},
		"the default":                {want: "from-config "},
		"the file of credentials":    {variables: map[string]string{"~/.aws/credentials": "[default]\naws_access_key_id = secret-file\naws_secret_access_key = s\n"}, want: "secret-file "},
		"another file":               {variables: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "~/other", "~/other": "[robot]\naws_access_key_id = other\n", "AWS_PROFILE": "robot"}, want: "other "},
		"no such profile":            {profile: "gone", want: `there is no profile "gone"`},
		"a role":                     {profile: "role", want: "role t", asked: "POST / Action=AssumeRole&ExternalId=x1&RoleArn=arn%3Arole&RoleSessionName=gorosbag&Version=2011-06-15"},
		"a role of the URL":          {profile: "base", role: "arn:mine", want: "role t", asked: "POST / Action=AssumeRole&RoleArn=arn%3Amine&RoleSessionName=gorosbag&Version=2011-06-15"},
		"its own source":             {profile: "itself", want: "role t", asked: "POST / Action=AssumeRole&RoleArn=arn%3Arole&RoleSessionName=gorosbag&Version=2011-06-15"},
		"a circle":                   {profile: "circle", want: "refer to each other without end"},
		"a role that is refused":     {profile: "forbidden", want: "the role arn:forbidden is refused: AccessDenied not you (status 403)", asked: "POST /"},
		"a second factor":            {profile: "factor", want: "second factor"},
		"a role by the environment":  {profile: "environment", variables: map[string]string{"AWS_ACCESS_KEY_ID": "base", "AWS_SECRET_ACCESS_KEY": "s"}, want: "role t", asked: "POST /"},
		"a role without credentials": {profile: "environment", want: "no credentials were found"},
		"an unknown source":          {profile: "nowhere", want: `credential_source "Nowhere"`},
		"single sign-on":             {profile: "sso", want: "credential_process = aws configure export-credentials"},
		"a process":                  {profile: "process", want: "process t"},
		"a process without JSON":     {profile: "broken", want: "prints no JSON"},
		"a process without keys":     {profile: "silent", want: "has no credentials"},
		"a process that fails":       {profile: "failing", want: "exit status 1"},
		"a web identity": {
			variables: map[string]string{"AWS_ROLE_ARN": "arn:pod", "AWS_WEB_IDENTITY_TOKEN_FILE": "~/token", "~/token": "jwt\n", "AWS_ROLE_SESSION_NAME": "pod"}, want: "role t",
			asked: "POST / Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Apod&RoleSessionName=pod&Version=2011-06-15&WebIdentityToken=jwt",
		},
		"a web identity without its file": {variables: map[string]string{"AWS_ROLE_ARN": "arn:pod", "AWS_WEB_IDENTITY_TOKEN_FILE": "~/gone"}, want: "no such file"},
		"a container": {
			profile: "empty", variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "SERVER/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "x"},
			want: "container x t", asked: "GET /container",
		},
		"a token in a file": {
			profile: "empty", variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "SERVER/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "~/token", "~/token": "y\n"},
			want: "container y t", asked: "GET /container",
		},
		"a container without": {profile: "empty", variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "SERVER/gone"}, want: "404 Not Found", asked: "GET /gone"},
		"a machine":           {profile: "empty", want: "machine ticket t", asked: "PUT /latest/api/token"},
		"no machine":          {profile: "empty", variables: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, want: "no credentials were found"},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			s := server(t, &seen, func() time.Time { return time.Now().Add(time.Hour) })
			all := map[string]string{"~/.aws/config": config, "AWS_ENDPOINT_URL_STS": s.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL}
			for key, value := range test.variables {
				all[key] = strings.ReplaceAll(value, "SERVER", s.URL)
			}
			environment(t, all)
			p := awsauth.Provider{Profile: test.profile, Role: test.role, Client: s.Client()}
			c, err := p.Credentials(t.Context())
			got := c.Key + " " + c.Token
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != test.want || err != nil && !strings.Contains(got, test.want) || strings.Contains(got, "hidden") {
				t.Errorf("%q, want %q", got, test.want)
			}
			if asked := strings.Join(seen, "\n"); !strings.HasPrefix(asked, test.asked) || test.asked == "" && asked != "" {
				t.Errorf("asked:\n%s, want\n%s", asked, test.asked)
			}
			if err == nil {
				n := len(seen)
				if again, err := p.Credentials(t.Context()); again != c || err != nil || len(seen) != n {
					t.Errorf("the second time: %v, %d questions", err, len(seen)-n)
				}
			}
		})
	}
}

// TestRenewed: credentials are renewed before they end, and kept to their end while that fails.
func TestRenewed(t *testing.T) {
	var seen []string
	left := time.Hour
	s := server(t, &seen, func() time.Time { return time.Now().Add(left) })
	environment(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/container"})
	p := awsauth.Provider{Client: s.Client()}
	ask := func() error {
		_, err := p.Credentials(t.Context())
		return err
	}
	left = time.Minute // soon at their end: each call asks
	for n := 1; n <= 3; n++ {
		if err := ask(); err != nil || len(seen) != n {
			t.Fatalf("%v, asked %d times", err, len(seen))
		}
	}
	s.Close() // away, but they still hold
	if err := ask(); err != nil {
		t.Error(err)
	}
	if c, err := p.Credentials(t.Context()); err != nil || p.Forget(awsauth.Credentials{}) || !p.Forget(c) {
		t.Error(err)
	}
	if err := ask(); err == nil {
		t.Error("credentials that were forgotten are used")
	}
}

// TestEnded: credentials that have ended are not used.
func TestEnded(t *testing.T) {
	var seen []string
	s := server(t, &seen, func() time.Time { return time.Now().Add(-time.Minute) })
	environment(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/container"})
	p := awsauth.Provider{Client: s.Client()}
	if _, err := p.Credentials(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := p.Credentials(t.Context()); err == nil {
		t.Error("they are used")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Credentials(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReadProfile: the sections of the files, and what is no profile.
func TestReadProfile(t *testing.T) {
	environment(t, map[string]string{"~/.aws/config": config})
	p, err := awsauth.ReadProfile("")
	if err != nil || p["region"] != "eu-central-1" || p["aws_access_key_id"] != "from-config" || p["max_concurrent_requests"] != "" {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := awsauth.ReadProfile("robot"); err != nil || p["aws_secret_access_key"] != "s#1" {
		t.Errorf("%v, %v", p, err)
	}
	for _, name := range []string{"office", "sso-session office", "profile robot"} {
		if p, err := awsauth.ReadProfile(name); err == nil {
			t.Errorf("%s is a profile: %v", name, p)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir())
	if _, err := awsauth.ReadProfile(""); err == nil {
		t.Error("a directory is read")
	}
}
