// One page of a list, with the links to the others, as GitHub answers.
import type { Answer } from './local-server.ts'

/** `wrap` puts the page into the object that some lists come in. */
export function listPage<Item>(
  items: readonly Item[],
  url: URL,
  toJson: (item: Item) => unknown,
  wrap: (page: unknown[], total: number) => unknown = (page) => page,
): Answer {
  const perPage = Number(url.searchParams.get('per_page') ?? 30)
  const page = Number(url.searchParams.get('page') ?? 1)
  const lastPage = Math.max(1, Math.ceil(items.length / perPage))
  const link = (target: number, relation: string) => {
    const address = new URL(url)
    address.searchParams.set('page', String(target))
    return `<${address}>; rel="${relation}"`
  }
  const headers = page < lastPage ? { link: `${link(page + 1, 'next')}, ${link(lastPage, 'last')}` } : {}
  const onPage = items.slice((page - 1) * perPage, page * perPage)
  return { kind: 'answer', status: 200, headers, body: wrap(onPage.map(toJson), items.length) }
}
