// Lets Node load GitHub's workflow packages, which import their JSON as only a bundler takes it: without an attribute.
import { registerHooks } from 'node:module'

registerHooks({
  load(url, context, nextLoad) {
    if (!/\/node_modules\/@actions\/.*\.json$/.test(url)) return nextLoad(url, context)
    return nextLoad(url, { ...context, importAttributes: { type: 'json' } })
  },
})
