// A person or an app, as GitHub's REST API gives it.

export function userJson(login: string) {
  const page = `https://github.com/${encodeURIComponent(login)}`
  const links = ['followers', 'following', 'gists', 'starred', 'subscriptions', 'organizations', 'repos']
  const urls = [...links, 'events', 'received_events'].map((name) => [`${name}_url`, `${page}/${name}`])
  return {
    login,
    id: 1,
    node_id: 'U_1',
    avatar_url: `${page}.png`,
    gravatar_id: '',
    url: page,
    html_url: page,
    ...Object.fromEntries(urls),
    type: login.endsWith('[bot]') ? 'Bot' : 'User',
    site_admin: false,
  }
}
